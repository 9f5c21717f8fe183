"""Make .venv and install the pinned requirements into it.

Runs before anything is installed, under any Python: standard library only, and
syntax that an old Python can parse, so that it can say that it is too old.
"""

import hashlib
import os
import re
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
    print("== packages, into .venv", flush=True)
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
    """Run pip and show how far it is, in lines of our own; its words are shown when it fails."""
    with open(PINS) as pins:
        lines = pins.read().splitlines()
    process = subprocess.Popen(pip, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    said = []
    met = set()  # type: set[str]
    for line in process.stdout or ():
        said.append(line)
        news = news_in(line, lines, met)
        if news:
            say(news)
    if process.wait():
        sys.stderr.write("\n" + "".join(reason(said)))
        fail("The requirements could not be installed: is the package index within reach? pip's own messages are above.")
    say("%d packages installed" % len(met), last=True)


def news_in(line, pins, met):
    """Return what a line of pip's tells about how far it is, or None; `met` gets the numbers of the pins that had their turn."""
    pin = re.search(r"\(from -r .*\(line (\d+)\)\)", line)
    large = re.match(r"\s+Downloading (\w+)-.* \((\d+)[\d.]* MB\)", line)
    if pin and pin.group(1) not in met:
        met.add(pin.group(1))
        if sys.stdout.isatty() or len(met) % 50 == 0:
            return "%d of %d  %s" % (len(met), sum("==" in each for each in pins), pins[int(pin.group(1)) - 1].split()[0])
    if large and int(large.group(2)) >= 100:
        return "%s: %s MB to download" % large.groups()
    if "Retrying (" in line:
        return "the package index does not answer; pip tries again"
    if line.startswith("Installing collected"):
        return "unpacking all of them"
    return None


def reason(said):
    """Return pip's errors with the lines just before them, or its last lines where it names none."""
    errors = [number for number, line in enumerate(said) if line.lstrip().lower().startswith("error")]
    return said[max(errors[0] - 3, 0) if errors else -15 :]


def say(text, last=False):
    """Write a line of progress, over the one before where there is a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(text.ljust(60)[:60] + ("\n" if last else "\r"))
    else:
        sys.stdout.write(text + "\n")
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
