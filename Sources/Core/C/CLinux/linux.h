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

// GNU extensions (glibc 2.26, 2.27 and 2.34) that need a macro before the first include.
int memfd_create(const char *name, unsigned int flags);
#include <linux/memfd.h>
#include <spawn.h>
#ifndef POSIX_SPAWN_SETSID
#define POSIX_SPAWN_SETSID 0x80
#endif
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
