// What the programs of this folder share: WebSocket frames and handshakes, sockets, clocks.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char ESTABLISHED[] =
    "{\"event\":\"pusher:connection_established\","
    "\"data\":\"{\\\"socket_id\\\":\\\"1.1\\\",\\\"activity_timeout\\\":120}\"}";

static const char REQUEST[] =
    "GET /app/app-key?protocol=7 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

static inline _Noreturn void fail(const char *what) {
    perror(what);
    exit(69);
}

// MARK: Clocks and limits

// User and system, all threads.
static inline double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// The same clock in all processes.
static inline int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline void raise_descriptor_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static inline long resident_bytes(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) fail("statm");
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

// MARK: Frames

struct frame {
    char *payload;
    size_t length;
};

// A text frame of at most 64 KiB; `masked` as clients send it, with a mask of zeros, which changes nothing.
static inline size_t put_frame(char *out, const char *payload, size_t count, int masked) {
    size_t head = 2;
    out[0] = (char)0x81;
    if (count < 126) {
        out[1] = (char)count;
    } else {
        out[1] = 126;
        out[2] = (char)(count >> 8);
        out[3] = (char)count;
        head = 4;
    }
    if (masked) {
        out[1] |= (char)0x80;
        memset(out + head, 0, 4);
        head += 4;
    }
    memcpy(out + head, payload, count);
    return head + count;
}

// Cuts the first frame from `bytes` and takes its mask off. Returns how many bytes it took; 0 if it is not all there.
static inline size_t cut_frame(char *bytes, size_t count, struct frame *frame) {
    if (count < 2) return 0;
    int masked = bytes[1] & 0x80;
    size_t length = bytes[1] & 0x7F, head = 2;
    if (length == 126) {
        if (count < 4) return 0;
        length = (size_t)(unsigned char)bytes[2] << 8 | (unsigned char)bytes[3];
        head = 4;
    }
    if (masked) head += 4;
    if (count < head + length) return 0;
    frame->payload = bytes + head;
    frame->length = length;
    if (masked) {
        for (size_t index = 0; index < length; index++) frame->payload[index] ^= frame->payload[-4 + (int)(index & 3)];
    }
    return head + length;
}

// The text that follows a key such as `"channel":`, and its length. NULL if there is none.
static inline char *find_text(struct frame frame, const char *key, size_t *length) {
    char *end = frame.payload + frame.length, *start = memmem(frame.payload, frame.length, key, strlen(key));
    if (!start) return NULL;
    start = memchr(start + strlen(key), '"', end - start - strlen(key));
    if (!start) return NULL;
    start++;
    char *quote = memchr(start, '"', end - start);
    if (!quote) return NULL;
    *length = quote - start;
    return start;
}

// MARK: The server's side

// If the frame subscribes, puts the answer and returns its size; otherwise 0.
static inline size_t put_subscription_answer(char *out, struct frame frame) {
    if (!memmem(frame.payload, frame.length, "pusher:subscribe", 16)) return 0;
    size_t length;
    char *channel = find_text(frame, "\"channel\":", &length), answer[512];
    if (!channel) return 0;
    int count = snprintf(answer, sizeof answer,
        "{\"event\":\"pusher_internal:subscription_succeeded\",\"channel\":\"%.*s\",\"data\":\"{}\"}",
        (int)length, channel);
    return put_frame(out, answer, count, 0);
}

// The answer to a handshake, with `connection_established` behind it. Returns its size; 0 if the request is not one.
static inline size_t put_handshake_answer(char *out, const char *head) {
    const char *key = strcasestr(head, "Sec-WebSocket-Key: ");
    if (!key) return 0;
    char text[128];
    snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + 19);
    unsigned char digest[20], accept[32];
    SHA1((unsigned char *)text, strlen(text), digest);
    EVP_EncodeBlock(accept, digest, sizeof digest);
    int count = sprintf(out,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
    return count + put_frame(out + count, ESTABLISHED, strlen(ESTABLISHED), 0);
}

// Listens on any free port of the loopback interface, and says which.
static inline int listen_and_say(void) {
    signal(SIGPIPE, SIG_IGN);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 4096) < 0) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

// MARK: The client's side

static inline size_t put_subscription(char *out, const char *channel) {
    char text[512];
    int count = snprintf(text, sizeof text,
        "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"%s\"}}", channel);
    return put_frame(out, text, count, 1);
}

// Where the frames begin, behind the head of an HTTP answer; 0 if it is not all there.
static inline size_t behind_head(const char *bytes, size_t count) {
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    return end ? end + 4 - bytes : 0;
}

// A connected socket that has sent the handshake.
static inline int connect_and_ask(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (write(fd, REQUEST, strlen(REQUEST)) < 0) fail("write");
    return fd;
}
