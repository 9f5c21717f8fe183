"""Where judges run: in this process, in several, or on a cluster. Text in, text out."""
