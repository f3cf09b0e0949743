/* A wall clock that is SHIFT seconds ahead, for one process: LD_PRELOAD=shift.so. Clocks that only count are left alone. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, id, now);
    const char *shift = getenv("SHIFT");
    if (!failed && shift && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += atoi(shift);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec at;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &at)) return -1;
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (now) *now = at.tv_sec;
    return at.tv_sec;
}
