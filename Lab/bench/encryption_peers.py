"""vodozemac's ratchets:  encryption_peers MESSAGES SIZE

Prints CPU seconds a message as one line of JSON, and those of a call alone: of one that only gives 32 bytes."""

import base64
import json
import sys
import time

import vodozemac


def seconds(count, work):
    start = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - start) / count


def main():
    count, text = int(sys.argv[1]), b"x" * int(sys.argv[2])
    figures = {}
    outbound = vodozemac.GroupSession()
    inbound = vodozemac.InboundGroupSession(outbound.session_key)
    messages = []
    figures["megolm_encrypt"] = seconds(count, lambda: messages.append(outbound.encrypt(text).to_base64()))
    following = iter(messages)
    figures["megolm_decrypt"] = seconds(
        count, lambda: inbound.decrypt(vodozemac.MegolmMessage.from_base64(next(following))))

    alice, bob = vodozemac.Account(), vodozemac.Account()
    hers, his, _ = opened(alice, bob, keys_of(bob)[0], text)
    hers.decrypt(his.encrypt(text))
    # It gives and takes bytes; in an event they are base64.
    figures["olm_encrypt"] = seconds(count, lambda: messages.append(base64.b64encode(hers.encrypt(text).to_parts()[1])))
    following = iter(messages[count:])
    figures["olm_decrypt"] = seconds(
        count, lambda: his.decrypt(vodozemac.AnyOlmMessage.from_parts(1, base64.b64decode(next(following)))))

    opens, total = count // 20 + 1, 0
    for start in range(0, opens, 50):
        some = iter(keys_of(bob)[:opens - start])
        number = min(50, opens - start)
        total += number * seconds(number, lambda: opened(alice, bob, next(some), text))
    figures["olm_open"] = total / opens
    figures["call"] = seconds(count, bob.curve25519_key.to_bytes) + seconds(count, lambda: None)
    print(json.dumps(figures))


def keys_of(account):
    account.mark_keys_as_published()
    account.generate_one_time_keys(50)
    return list(account.one_time_keys.values())


def opened(alice, bob, key, text):
    hers = alice.create_outbound_session(bob.curve25519_key, key)
    _, body = hers.encrypt(text).to_parts()
    message = vodozemac.PreKeyMessage.from_base64(base64.b64encode(body).rstrip(b"=").decode())
    his, text = bob.create_inbound_session(alice.curve25519_key, message)
    return hers, his, text


main()
