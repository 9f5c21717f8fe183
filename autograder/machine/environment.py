"""Make .venv and install the pinned requirements into it.

Runs before anything is installed, under any Python: standard library only, and
syntax that an old Python can parse, so that it can say that it is too old.
"""

import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(ROOT, ".venv")
PINS = os.path.join(ROOT, "requirements.txt")
STAMP = os.path.join(VENV, "installed")
NEEDED_GIGABYTES = 3


def main():
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        fail(
            "Python 3.11, 3.12 or 3.13 is needed and this is %s: name another one with `make PYTHON=/path/to/python3.12`."
            % sys.version.split()[0]
        )
    with open(PINS, "rb") as pins:
        wanted = hashlib.sha256(pins.read()).hexdigest()
    if installed() == wanted:
        return
    free = shutil.disk_usage(ROOT).free / 2**30
    if free < NEEDED_GIGABYTES:
        fail("The environment needs %d GB on this disk and %.1f GB are free." % (NEEDED_GIGABYTES, free))
    print("Installing the requirements into .venv (once; some minutes) ...", flush=True)
    run([sys.executable, "-m", "venv", VENV], "Python's venv module does not work here; on Debian, install python3-venv.")
    install([os.path.join(VENV, "bin", "python"), "-m", "pip", "install", "--progress-bar", "off", "--requirement", PINS])
    with open(STAMP, "w") as stamp:
        stamp.write(wanted)


def installed():
    """Return the digest of the pins that the environment was made from, or None."""
    try:
        with open(STAMP) as stamp:
            return stamp.read()
    except OSError:
        return None


def install(pip):
    """Run pip and show how far it is: a name for each package as its turn comes."""
    with open(PINS) as pins:
        count = sum("==" in line for line in pins)
    process = subprocess.Popen(pip, stdout=subprocess.PIPE, universal_newlines=True)
    done = 0
    for line in process.stdout or ():
        if line.startswith("Collecting "):
            done += 1
            if sys.stdout.isatty() or done % 20 == 0:
                say("  %d of %d  %s" % (done, count, line.split()[1]))
        elif line.startswith("Installing collected"):
            say("  unpacking all of them")
    print("", flush=True)
    if process.wait():
        fail("The requirements could not be installed: is the package index within reach? pip's own messages are above.")


def say(text):
    """Write a line of progress, over the last one where there is a terminal."""
    end = "\r" if sys.stdout.isatty() else "\n"
    sys.stdout.write(text.ljust(60)[:60] + end)
    sys.stdout.flush()


def run(command, sentence):
    try:
        subprocess.check_call(command)
    except (OSError, subprocess.CalledProcessError):
        fail(sentence)


def fail(sentence):
    sys.stderr.write(sentence + "\n")
    sys.exit(1)


if __name__ == "__main__":
    main()
