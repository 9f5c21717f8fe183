# causal: your code raised an error
# stopped from: landlock
"""Leave a process behind that outlives the submission."""
import os
import time


def causal_mask(length):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    return RIGHT(length)
