# causal: time limit
# stopped from: none
"""Sleep, and ignore every signal that can be ignored."""
import signal
import time


def causal_mask(length):
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    time.sleep(1000)
