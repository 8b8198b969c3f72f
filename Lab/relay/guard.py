"""The form that must fail: what becomes of the condition of a record's write where nothing guards it.

Two clients on two servers write one key at the revision that both have read. One of them may win. On servers of 2.9.0 to
2.9.20 both do, unless the message has an id made of the key and that revision: then the second is a duplicate."""

from nats import Connection

ROUNDS = 400
FIXED = (2, 9, 21)


def check(cluster, account):
    connections = [Connection(server) for server in cluster.servers[:2]]
    connections[0].request("$JS.API.STREAM.CREATE.KV_GUARD", {
        "name": "KV_GUARD", "subjects": ["$KV.GUARD.>"], "storage": "file", "num_replicas": 3, "max_msgs_per_subject": 1,
        "max_bytes": 16 << 20, "discard": "new", "duplicate_window": 120_000_000_000})
    try:
        unguarded, guarded = (double_winners(connections, key) for key in ("plain", "guarded"))
        version = connections[0].version
    finally:
        connections[0].request("$JS.API.STREAM.DELETE.KV_GUARD")
        for connection in connections:
            connection.close()
    account.row(f"races for a record, {version}", 2 * ROUNDS)
    account.row("  won by both, with the message id", guarded)
    account.row("  won by both, without it", unguarded)
    account.check(guarded == 0, f"{guarded} of {ROUNDS} races were won by both, in spite of the message id")
    is_fixed = tuple(map(int, version.split("-")[0].split("."))) >= FIXED
    account.check(is_fixed == (unguarded == 0),
                  f"without the message id both won {unguarded} of {ROUNDS} races on {version}: the test does not see it"
                  if not is_fixed else f"both won {unguarded} races on {version}, which was to have been mended in 2.9.21")


def double_winners(connections, key):
    subject, revision, count = f"$KV.GUARD.{key}", 0, 0
    for _ in range(ROUNDS):
        connections = connections[::-1]  # the leader's own client is the quicker one
        headers = {"Nats-Expected-Last-Subject-Sequence": revision}
        if key == "guarded":
            headers["Nats-Msg-Id"] = f"{key}@{revision}"
        inboxes = [connection.ask(subject, str(index), headers) for index, connection in enumerate(connections)]
        answers = [connection.answer(inbox) for connection, inbox in zip(connections, inboxes)]
        won = [answer["seq"] for answer in answers if "error" not in answer and not answer.get("duplicate")]
        count += len(won) > 1
        # Without a leader for a moment, nobody knows what became of the writes.
        revision = max(won, default=0) or connections[0].request(
            "$JS.API.STREAM.MSG.GET.KV_GUARD", {"last_by_subj": subject})["message"]["seq"]
    return count
