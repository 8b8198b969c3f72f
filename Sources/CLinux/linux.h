// The Linux headers that the toolchain's Glibc module leaves out, and what of them is a macro with an argument.
#pragma once
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

// prctl is variadic.
static inline void name_this_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
