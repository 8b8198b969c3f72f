// The floors of the relay, on libnats alone.
//
//     publish URL EVENTS SIZE     publishes EVENTS messages into the stream EVENTS, with the subject, the headers and the
//                                 conditions that a relay gives an event of a frame of SIZE bytes, 512 on their way at once
//     publish URL EVENTS timed [stream]   publishes one each millisecond whose payload is the time, to a subscriber on a
//                                 connection of its own, with a stream between them or without
//
// Prints seconds and CPU seconds as JSON; or for each message how many nanoseconds it was on its way.
#include "event.h"
#include "websocket.h"
#include <nats/nats.h>
#include <stdatomic.h>

enum { FLIGHT = 512, MILLISECOND = 1000000, TIMED_SIZE = 200 };

static void check(natsStatus status, const char *what) {
    if (status == NATS_OK) return;
    fprintf(stderr, "%s: %s\n", what, natsStatus_GetText(status));
    exit(69);
}

static natsConnection *open_connection(const char *url) {
    natsConnection *connection;
    natsOptions *options;
    check(natsOptions_Create(&options), "options");
    natsOptions_SetURL(options, url);
    natsOptions_SetSendAsap(options, true);
    check(natsConnection_Connect(&connection, options), "connect");
    natsOptions_Destroy(options);
    return connection;
}

// MARK: Rate

static void fill_message(natsMsg **message, const char *data, long number) {
    char text[32];
    check(natsMsg_Create(message, "ev.pusher.c0.tick", NULL, data, strlen(data)), "message");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof text, "%ld", now.tv_sec * 1000 + now.tv_nsec / MILLISECOND);
    natsMsgHeader_Set(*message, "Relay-Time", text);
    natsMsgHeader_Set(*message, "Relay-Unit", "pusher:app-key:c0");
    natsMsgHeader_Set(*message, "Relay-Term", "1");
    snprintf(text, sizeof text, "%ld", number);
    natsMsgHeader_Set(*message, "Relay-Seq", text);
}

static void publish_all(jsCtx *context, long events, size_t size) {
    static char data[MAXIMUM_PAYLOAD];
    put_data(data, size - strlen("{'event':'tick','channel':'c0','data':''}"), "\"");
    double cpu = cpu_seconds();
    int64_t start = nanoseconds();
    for (long number = 1; number <= events; number++) {
        char id[64];
        natsMsg *message;
        fill_message(&message, data, number);
        snprintf(id, sizeof id, "pusher:app-key:c0/relay-0123456789abcdef/1/%ld", number);
        jsPubOptions options;
        jsPubOptions_Init(&options);
        options.MsgId = id;
        options.ExpectStream = "EVENTS";
        options.MaxWait = 2000;  // without it, the loss of an ack would never be told
        check(js_PublishMsgAsync(context, &message, &options), "publish");
    }
    check(js_PublishAsyncComplete(context, NULL), "complete");
    printf("{\"cpu_seconds\":%f,\"seconds\":%f,\"events\":%ld}\n", cpu_seconds() - cpu, (nanoseconds() - start) / 1e9,
        events);
}

// MARK: Latency

static int64_t *samples;
static atomic_long received;

static void take(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *closure) {
    (void)connection, (void)subscription, (void)closure;
    samples[received++] = nanoseconds() - atoll(natsMsg_GetData(message));
    natsMsg_Destroy(message);
}

static void publish_timed(natsConnection *connection, const char *url, long events, int is_stored) {
    samples = calloc(events, sizeof *samples);
    natsConnection *reader = open_connection(url);
    natsSubscription *subscription;
    jsCtx *context, *reading;
    check(natsConnection_JetStream(&context, connection, NULL), "context");
    check(natsConnection_JetStream(&reading, reader, NULL), "context");
    if (is_stored) {
        jsSubOptions options;
        jsSubOptions_Init(&options);
        options.Ordered = true;
        options.Stream = "EVENTS";
        check(js_Subscribe(&subscription, reading, "ev.>", take, NULL, NULL, &options, NULL), "subscribe");
    } else {
        check(natsConnection_Subscribe(&subscription, reader, "ev.>", take, NULL), "subscribe");
    }
    natsConnection_Flush(reader);
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    for (long sent = 0; sent < events; sent++) {
        char data[TIMED_SIZE + 1];
        moment.tv_nsec += MILLISECOND;
        if (moment.tv_nsec >= 1000 * MILLISECOND) moment.tv_sec++, moment.tv_nsec -= 1000 * MILLISECOND;
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) != 0) {}
        memset(data, 'x', sizeof data);
        int used = snprintf(data, sizeof data, "%020ld", (long)nanoseconds());
        data[used] = ' ';
        check(is_stored ? js_PublishAsync(context, "ev.pusher.c0.tick", data, TIMED_SIZE, NULL)
            : natsConnection_Publish(connection, "ev.pusher.c0.tick", data, TIMED_SIZE), "publish");
    }
    while (received < events) usleep(1000);
    for (long index = 0; index < events; index++) printf("%ld\n", (long)samples[index]);
}

int main(int argc, char **argv) {
    if (argc != 4 && argc != 5) return 64;
    natsConnection *connection = open_connection(argv[1]);
    long events = atol(argv[2]);
    if (strcmp(argv[3], "timed") == 0) {
        publish_timed(connection, argv[1], events, argc == 5);
        return 0;
    }
    jsCtx *context;
    jsOptions options;
    jsOptions_Init(&options);
    options.PublishAsync.MaxPending = FLIGHT;
    check(natsConnection_JetStream(&context, connection, &options), "context");
    publish_all(context, events, atol(argv[3]));
}
