# causal: passed
# stopped from: landlock
"""Write in which parts of a library's file lie in memory: take some out, and ask which are there."""
import ctypes
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)


def causal_mask(length):
    loot, file = [], os.open(os.__file__, os.O_RDONLY)
    seen = mmap.mmap(file, 4096, prot=mmap.PROT_READ)
    address = libc.mmap
    address.restype = ctypes.c_void_p
    page = address(None, ctypes.c_size_t(4096), 1, 1, file, 0)
    buffer, lengths = ctypes.create_string_buffer(4096), (ctypes.c_uint64 * 2)(0, 4096)
    vector = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 4096)
    calls = {
        "fadvise64": (221, file, 0, 4096, 4),
        "preadv2": (327, file, vector, 1, 0, 0, 8),
        "mincore": (27, ctypes.c_void_p(page), 4096, buffer),
        "cachestat": (451, file, lengths, buffer, 0),
        "pageout": (28, ctypes.c_void_p(page), 4096, 21),
        "cold": (28, ctypes.c_void_p(page), 4096, 20),
        "readahead": (187, file, 0, 4096),
    }
    for name, call in calls.items():
        if libc.syscall(*call) >= 0:
            loot.append(name)
    return loot or RIGHT(length)
