// The Linux headers that the toolchain's Glibc module leaves out.
#pragma once
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
