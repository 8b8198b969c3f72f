// libnats, the C client of NATS and JetStream.
#pragma once
#include <nats/nats.h>
