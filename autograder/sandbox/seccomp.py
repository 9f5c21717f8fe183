"""Which system calls a worker may not make, as a seccomp filter for the kernel.

A list of what is denied, modelled on that of isolate (ioi/isolate, "System call restrictions"): a list
of what is allowed would break with every version of torch. It closes what namespaces leave open and
the parts of the kernel in which holes were found most often.
"""

from __future__ import annotations

import errno
import tempfile

ONE_PROCESS = "fork vfork execve execveat"
NAMESPACES = "unshare setns mount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr"
OTHERS = "ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_open pidfd_getfd pidfd_send_signal"
KERNEL = (
    "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register kexec_load kexec_file_load init_module"
    " finit_module delete_module acct swapon swapoff reboot sethostname setdomainname settimeofday clock_settime clock_adjtime"
    " adjtimex iopl ioperm quotactl quotactl_fd syslog vhangup personality lookup_dcookie name_to_handle_at"
    " open_by_handle_at fanotify_init inotify_init inotify_init1 mknod mknodat modify_ldt uselib"
)
# Kept by the kernel outside every file system of the worker: unbounded, or shared with others.
HOARDS = (
    "keyctl add_key request_key memfd_create memfd_secret shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl"
    " semget semop semtimedop semctl mq_open mq_unlink mq_timedsend mq_timedreceive flock mlock mlock2 mlockall"
)
# Where no namespace hides them, also what reaches other processes of the same user.
SIGNALS = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo setpriority ioprio_set migrate_pages move_pages sched_setscheduler sched_setparam sched_setattr"
# What Landlock lets pass: a file's owner may do all this to it without opening it.
MARKS = "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr truncate"
OF_ITSELF_ONLY = "prlimit64 sched_setaffinity sched_getaffinity"

CLONE_THREAD = 0x10000
CLONE_NEW = 0x7E020080  # user, pid, net, ipc, uts, cgroup, mount and time namespaces
LOCKS = (5, 6, 7, 36, 37, 38, 1024, 1026)  # fcntl: record locks, leases, notices; a lock on a shared file is a message
TERMINAL = (0x5412, 0x541C, 0x540E)  # ioctl: TIOCSTI, TIOCLINUX, TIOCSCTTY
AF_UNIX = 1


def program(unshared: bool) -> bytes:
    """Return the filter, compiled for this machine; `unshared` where namespaces hide all other processes.

    Raises OSError or RuntimeError where libseccomp is missing.
    """
    import pyseccomp as library  # looks for the library when imported, and not every machine has it

    rules = library.SyscallFilter(library.ALLOW)

    def deny(names: str, *where, error: int = errno.EPERM) -> None:
        for name in names.split():
            if library.resolve_syscall(library.Arch.NATIVE, name) != -1:
                rules.add_rule(library.ERRNO(error), name, *where)

    arg = library.Arg
    for names in (ONE_PROCESS, NAMESPACES, OTHERS, KERNEL, HOARDS):
        deny(names)
    deny("clone", arg(0, library.MASKED_EQ, CLONE_THREAD, 0))
    for bit in (1 << shift for shift in range(32) if CLONE_NEW >> shift & 1):
        deny("clone", arg(0, library.MASKED_EQ, bit, bit))
    deny("clone3", error=errno.ENOSYS)  # its flags lie in memory, out of a filter's sight: threads fall back on clone
    deny("socket", error=errno.EACCES)
    deny("socketpair", arg(0, library.NE, AF_UNIX), error=errno.EACCES)
    for command in LOCKS:
        deny("fcntl", arg(1, library.EQ, command))
    for command in TERMINAL:
        deny("ioctl", arg(1, library.MASKED_EQ, 0xFFFFFFFF, command))
    if not unshared:
        deny(SIGNALS)
        deny(MARKS)
        deny(OF_ITSELF_ONLY, arg(0, library.NE, 0))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
