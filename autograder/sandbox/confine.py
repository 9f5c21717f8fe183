"""What a process gives up before it runs a learner's code. Everything here happens behind the wall.

With ctypes, because Python 3.11 has none of these calls and no maintained library has all of them.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

NEW_USER, NEW_PID, NEW_MOUNT, NEW_IPC, NEW_NET, NEW_UTS = 0x10000000, 0x20000000, 0x20000, 0x08000000, 0x40000000, 0x04000000
NO_SUID, NO_DEVICES, NO_PROGRAMS = 2, 4, 8
DUMPABLE, SECCOMP, BOUNDING, NO_NEW_RIGHTS, SUBREAPER, AMBIENT, CLEAR_ALL = 4, 22, 24, 38, 36, 47, 4
CREATE_RULESET, RESTRICT_SELF, ABSTRACT_SOCKETS, SIGNALS = 444, 446, 1, 2  # of Landlock
MMAP_THRESHOLD = -3  # of mallopt
CAPABILITIES_3 = 0x20080522
HOME = "/home/learner"
SCRATCH = ("/tmp", HOME, "/dev/shm")


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def become(user: int) -> None:
    """Give up root for a user that owns nothing."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    _call("prctl", DUMPABLE, 1, 0, 0, 0)  # else the kernel would not let it write the map of its own user namespace


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent has gone, so that they can be ended and counted."""
    _call("prctl", SUBREAPER, 1, 0, 0, 0)


def unshare() -> None:
    """Enter new namespaces; the new pid namespace is for the children only."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", NEW_USER | NEW_PID | NEW_MOUNT | NEW_IPC | NEW_NET | NEW_UTS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(text)


def mount_scratch(megabytes: int) -> None:
    """Mount fresh, bounded folders over those that can be written to, and an empty one over /proc, which tells paths of the machine."""
    options = f"size={megabytes}m,nr_inodes=4k,mode=0700".encode()
    for folder in SCRATCH:
        _mount(folder, options)
    _mount("/proc", b"size=4k,mode=0555")
    os.chdir(HOME)


def drop_rights() -> None:
    """Give up every capability, and every way to get one."""
    _call("prctl", NO_NEW_RIGHTS, 1, 0, 0, 0)
    _call("prctl", AMBIENT, CLEAR_ALL, 0, 0, 0)
    number = 0
    while libc.prctl(BOUNDING, number, 0, 0, 0) == 0:
        number += 1
    _call("capset", (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)())


def clock_of(pid: int) -> int:
    """Return the number of the clock that counts what all threads of a process compute, for `time.clock_gettime`."""
    clock = ctypes.c_int()
    _call("clock_getcpuclockid", pid, ctypes.byref(clock))
    return clock.value


def give_back_memory() -> None:
    """Return every large piece of memory to the kernel when it is freed: the peak is then what was held, not what the allocator kept."""
    libc.mallopt(MMAP_THRESHOLD, 1 << 16)


def lock_files(readable: list[str]) -> None:
    """Allow only reading, and only of these files and of what is below these folders (Landlock)."""
    from landlock import FSAccess, Ruleset

    rules, read = Ruleset(), FSAccess.READ_FILE | FSAccess.EXECUTE
    for path in readable:
        rules.allow(path, rules=read | FSAccess.READ_DIR if os.path.isdir(path) else read)
    rules.apply()
    os.close(rules._fd)


def scope_signals() -> bool:
    """Let signals and abstract sockets reach only what is confined as well, where the kernel can (Linux 6.12); return whether it does.

    The filter refuses the calls; this holds for ways that nobody has thought of. The library that `lock_files` uses does not know it yet.
    """
    scoped = (ctypes.c_uint64 * 3)(0, 0, ABSTRACT_SOCKETS | SIGNALS)
    rules = libc.syscall(CREATE_RULESET, ctypes.byref(scoped), ctypes.sizeof(scoped), 0)
    if rules < 0:  # an older kernel does not know the third field
        return False
    try:
        _call("prctl", NO_NEW_RIGHTS, 1, 0, 0, 0)
        _call("syscall", RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)
    return True


def filter_calls(program: bytes) -> None:
    """Have the kernel refuse the system calls in the seccomp filter, from now on and in every new thread."""
    _call("prctl", NO_NEW_RIGHTS, 1, 0, 0, 0)
    _call("prctl", SECCOMP, 2, ctypes.byref(_Filter(len(program) // 8, program)), 0, 0)


def _mount(where: str, options: bytes) -> None:
    _call("mount", b"tmpfs", where.encode(), b"tmpfs", ctypes.c_ulong(NO_SUID | NO_DEVICES | NO_PROGRAMS), options)


def _call(name: str, *args) -> None:
    if getattr(libc, name)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
