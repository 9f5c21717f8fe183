# causal: passed
# stopped from: landlock
"""Write one file of a gigabyte."""
def causal_mask(length):
    written = 0
    for folder in ("/tmp", "/dev/shm", "/home/learner"):
        try:
            with open(f"{folder}/attention-loot", "wb") as file:
                for _ in range(1000):
                    written += file.write(bytes(1 << 20))
        except OSError:
            pass
    return written if written > 100 << 20 else RIGHT(length)
