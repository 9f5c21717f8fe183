"""Which system calls a worker may make, as a seccomp filter for the kernel: a list of what is allowed.

The lists hold what workers were seen to use while a class was judged (`tests/test_seccomp.py` traces it anew), and what a C library, Python or
torch may use in its place on another machine. A call that Linux adds tomorrow is on none of them.
"""

from __future__ import annotations

import errno
import tempfile

MEMORY = "brk mmap munmap mremap mprotect msync membarrier get_mempolicy"
THREADS = (
    "arch_prctl exit exit_group futex futex_waitv get_robust_list set_robust_list getcpu gettid restart_syscall rseq riscv_flush_icache"
    " sched_get_priority_max sched_get_priority_min sched_getparam sched_getscheduler sched_rr_get_interval sched_yield set_tid_address"
)
SIGNALS = "alarm getitimer setitimer pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sigaltstack"
ITSELF = (
    "capget getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid getuid"
    " setrlimit sysinfo times umask uname wait4 waitid"
)
CLOCKS = "clock_getres clock_gettime clock_nanosleep getrandom gettimeofday nanosleep time"
WAITING = (
    "epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 pipe pipe2 poll ppoll pselect6 select"
    " timerfd_create timerfd_gettime timerfd_settime"
)
# Nothing that says what of a file lies in memory, or that takes it out (fadvise64, preadv2, mincore, cachestat): files outlive a worker.
FILES = (
    "access chdir close close_range copy_file_range dup dup2 dup3 faccessat faccessat2 fallocate fchdir fdatasync fstat fstatfs fsync ftruncate"
    " getcwd getdents getdents64 link linkat lseek lstat mkdir mkdirat newfstatat open openat pread64 preadv pwrite64 pwritev read readlink"
    " readlinkat readv rename renameat renameat2 rmdir sendfile stat statfs statx symlink symlinkat unlink unlinkat write writev"
)
LINK = "getpeername getsockname getsockopt recvfrom recvmsg sendmsg sendto shutdown"
LISTS = (MEMORY, THREADS, SIGNALS, ITSELF, CLOCKS, WAITING, FILES, LINK)

# Only where namespaces hide all other processes and files: signals reach no others there, and a file's owner may mark no other files.
WHERE_UNSHARED = (
    "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo setpriority"
    " chmod fchmod fchmodat fchmodat2 truncate utime utimes utimensat futimesat"
)
OF_ITSELF = "prlimit64 sched_getaffinity sched_setaffinity"  # the first argument names a process; 0 is the caller

CLONE_THREAD = 0x10000
CLONE_NEW = 0x7E020080  # user, pid, net, ipc, uts, cgroup, mount and time namespaces
AF_UNIX = 1
TRIED = "execve execveat fork socket vfork"
FD_COMMANDS = (0, 1, 2, 3, 1030, 1032)  # fcntl: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ; no locks, leases, owners
F_SETFL, O_ASYNC = 4, 0x2000  # whoever gets a signal when something can be read need not be the caller
REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # ioctl: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
ADVICE = (0, 1, 2, 3, 4, 8, 14, 15)  # madvise: NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE; no PAGEOUT
PROCESS = (
    15,
    16,
    21,
    23,
    39,
)  # prctl: names of threads (PR_SET_NAME, PR_GET_NAME); whether rights are gone (PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS)
SOME_OF = (("fcntl", 1, FD_COMMANDS), ("ioctl", 1, REQUESTS), ("madvise", 2, ADVICE), ("prctl", 0, PROCESS))
LOW = 0xFFFFFFFF  # the kernel reads no more of these arguments


def program(unshared: bool) -> bytes:
    """Return the filter, compiled for this machine; `unshared` where namespaces hide all other processes.

    Raises OSError or RuntimeError where libseccomp is missing.
    """
    import pyseccomp as library  # looks for the library when imported, and not every machine has it

    # What is neither allowed nor named below does not exist, also what Linux adds tomorrow: a C library that is newer than our lists does without.
    rules = library.SyscallFilter(library.ERRNO(errno.ENOSYS))
    arg, equal, masked = library.Arg, library.EQ, library.MASKED_EQ

    def allow(names: str, *where) -> None:
        for name in names.split():
            if library.resolve_syscall(library.Arch.NATIVE, name) >= 0:  # each processor has some that others lack
                rules.add_rule(library.ALLOW, name, *where)

    for names in (*LISTS, *([WHERE_UNSHARED] if unshared else [])):
        allow(names)
    allow(OF_ITSELF, arg(0, masked, LOW, 0))
    allow("clone", arg(0, masked, CLONE_THREAD | CLONE_NEW, CLONE_THREAD))
    allow("socketpair", arg(0, equal, AF_UNIX))
    for name, place, values in SOME_OF:
        for value in values:
            allow(name, arg(place, masked, LOW, value))
    allow("fcntl", arg(1, masked, LOW, F_SETFL), arg(2, masked, O_ASYNC, 0))

    # What people try gets the answer that tells them what happened.
    rules.add_rule(library.ERRNO(errno.EPERM), "clone", arg(0, masked, CLONE_THREAD, 0))
    for name in TRIED.split():
        rules.add_rule(library.ERRNO(errno.EPERM), name)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
