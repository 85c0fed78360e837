/*
 * The system calls that a confined program may use: everything that Node,
 * Python, Go, .NET, a JVM and a browser without its own sandbox need, and
 * nothing that reaches another process, another namespace, the machine, or a
 * new and rarely used part of the kernel.
 *
 * Left out on purpose (ENOSYS inside): clone3 (its flags are in memory and a
 * filter cannot see them); io_uring_* (would do I/O past every other filter);
 * keyctl add_key request_key; bpf perf_event_open; userfaultfd; ptrace
 * process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp; mount
 * umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree
 * open_tree_attr move_mount mount_setattr statmount listmount;
 * open_by_handle_at name_to_handle_at; *_module kexec_* reboot swapon swapoff
 * acct quotactl quotactl_fd syslog vhangup; settimeofday clock_settime adjtimex
 * clock_adjtime; sethostname setdomainname; iopl ioperm modify_ldt; fanotify_*;
 * io_setup and its family; move_pages migrate_pages; openat2 (its mode is in
 * memory) and fchmodat2 (the prologue does not check its mode): programs fall
 * back; memfd_secret; lookup_dcookie nfsservctl uselib sysfs ustat.  Calls with
 * argument checks: seccomp.c.
 */
#include "policy/base/syscall_list.h"
#include "shim/base/array.h"

const struct calls calls_allowed[] = {
    {"files by descriptor",
	"read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 "
	"lseek close close_range dup dup2 dup3 fcntl flock ftruncate fallocate "
	"fsync fdatasync sync_file_range syncfs sync readahead fadvise64 "
	"copy_file_range sendfile splice tee vmsplice getdents getdents64"},
    {"files by name: the mount view and Landlock decide",
	"open openat creat access faccessat faccessat2 stat lstat fstat "
	"newfstatat statx statfs fstatfs readlink readlinkat truncate mkdir mkdirat "
	"rmdir unlink unlinkat rename renameat renameat2 link linkat symlink "
	"symlinkat chdir fchdir getcwd umask"},
    {"owners, modes and times of the program's own files",
	"chmod fchmod fchmodat chown fchown lchown fchownat utime utimes utimensat "
	"futimesat"},
    {"extended attributes of the program's own files",
	"getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr "
	"lsetxattr fsetxattr removexattr lremovexattr fremovexattr"},
    {"watching files", "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch"},
    {"memory",
	"brk mmap munmap mprotect mremap madvise msync mincore mlock mlock2 "
	"mlockall munlock munlockall pkey_alloc pkey_free pkey_mprotect membarrier"},
    {"memory and processors of a large machine: the JVM and .NET need them",
	"mbind set_mempolicy get_mempolicy getcpu"},
    {"threads and processes; clone is filtered by argument, exec goes to the exec gate",
	"fork vfork exit exit_group wait4 waitid set_tid_address set_robust_list "
	"get_robust_list rseq futex futex_waitv restart_syscall arch_prctl"},
    {"signals: no process outside the cell can be named",
	"rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait "
	"rt_sigsuspend rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack kill tkill tgkill "
	"pause signalfd signalfd4 pidfd_open pidfd_send_signal"},
    {"own ids; without capabilities, setting them can only drop privilege",
	"getpid getppid gettid getuid geteuid getgid getegid getgroups getresuid "
	"getresgid setuid setgid setreuid setregid setresuid setresgid setfsuid "
	"setfsgid setgroups capget capset getpgrp getpgid setpgid getsid setsid"},
    {"own limits and scheduling; hard limits apply; RLIMIT_CORE is read only",
	"getrlimit setrlimit prlimit64 getrusage times getpriority setpriority "
	"ioprio_get ioprio_set sched_yield sched_getparam sched_setparam "
	"sched_getscheduler sched_setscheduler sched_get_priority_max "
	"sched_get_priority_min sched_rr_get_interval sched_getaffinity "
	"sched_setaffinity sched_getattr sched_setattr"},
    {"reading the time and timers",
	"time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm "
	"getitimer setitimer timer_create timer_settime timer_gettime "
	"timer_getoverrun timer_delete timerfd_create timerfd_settime "
	"timerfd_gettime"},
    {"waiting",
	"poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_ctl_old "
	"epoll_wait epoll_wait_old epoll_pwait epoll_pwait2 eventfd eventfd2 pipe pipe2"},
    {"sockets: socket and socketpair are filtered by argument",
	"bind listen accept accept4 connect shutdown getsockname getpeername "
	"getsockopt setsockopt sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg"},
    {"System V and POSIX queues: the ipc namespace is the cell's own",
	"shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv "
	"msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify "
	"mq_getsetattr"},
    {"information about the machine", "uname sysinfo getrandom"},
    {"further restrictions that a program sets for itself",
	"landlock_create_ruleset landlock_add_rule landlock_restrict_self"},
    {0, 0},
};

const struct calls_young calls_young[] = {
    {"cachestat", 451},
    {"map_shadow_stack", 453},
    {"futex_wake", 454},
    {"futex_wait", 455},
    {"futex_requeue", 456},
    {"mseal", 462},
    {"setxattrat", 463},
    {"getxattrat", 464},
    {"listxattrat", 465},
    {"removexattrat", 466},
};
const uint32_t calls_young_n = ARRAY_LEN(calls_young);
