"""Random values that one side makes and the other reads: verifications, backups, files, signatures, keys on paper."""

import copy

from peer import Refused, decode, encode
from ratchets import damaged, must, refuses, some_text

CHARACTERS = "aZ09 -_.:/\\\"\t\n\u0000\u001f\u007fäß\u00e9e\u0301Я漢字\u2028\ufffd\U0001F600\U0001F680"


def some_words(random, most=12):
    return "".join(random.choice(CHARACTERS) for _ in range(random.randint(1, most)))


def some_key(random):
    return encode(random.randbytes(32))


# ---------------------------------------------------------------------------------------------------- verifications

def some_device(random):
    user = f"@{random.choice('abc')}{random.randrange(1000)}:hs{random.randrange(10)}.test"
    return [user, some_key(random)[:10].upper()]


def sas(random, starter, accepter):
    start = {"from_device": "D", "method": "m.sas.v1", "unknown": some_json(random, 2)}
    keys = [peer("sas.make", sas="s")["key"] for peer in (starter, accepter)]
    commitments = [peer("sas.commitment", key=keys[1], start=start)["commitment"] for peer in (starter, accepter)]
    must(commitments[0] == commitments[1], "two commitments")
    parties = [[*some_device(random), key] for key in keys]
    transaction = some_words(random, 30)
    starter("sas.agree", sas="s", key=keys[1])
    accepter("sas.agree", sas="s", key=keys[0])
    shown = [peer("sas.compare", sas="s", starter=parties[0], accepter=parties[1], transaction=transaction)
             for peer in (starter, accepter)]
    must(shown[0] == shown[1], f"two things are shown: {shown}")
    refused = 0
    for sender, receiver, by, to in ((starter, accepter, *parties), (accepter, starter, *parties[::-1])):
        named = {"sas": "s", "method": random.choice(["hkdf-hmac-sha256.v2", "hkdf-hmac-sha256"]), "sender": by,
                 "receiver": to, "transaction": transaction}
        master = some_key(random)
        told = {"ed25519:" + by[1]: some_key(random), "ed25519:" + master: master}
        if random.random() < 0.5:
            del told["ed25519:" + master]
        content = sender("sas.codes", keys=told, **named)["content"]
        must(receiver("sas.check", content=content, keys=told, **named)["keys"] == sorted(told), "other keys")
        wrong = copy.deepcopy(content)
        if random.random() < 0.5:
            wrong["keys"] = changed(random, wrong["keys"])
        else:
            id = random.choice(list(told))
            wrong["mac"][id] = changed(random, wrong["mac"][id])
        refuses("a wrong code", lambda: receiver("sas.check", content=wrong, keys=told, **named))
        other = {**told, random.choice(list(told)): some_key(random)}
        refuses("another key", lambda: receiver("sas.check", content=content, keys=other, **named))
        refused += 2
    return {"compared": 1, "refused": refused}


def changed(random, text):
    """With another letter in one place, but not the last, where two may mean the same bits."""
    place = random.randrange(len(text) - 1)
    return text[:place] + ("B" if text[place] == "A" else "A") + text[place + 1:]


def qr(random, writer, reader):
    code = {"mode": random.randrange(3), "id": some_words(random, 100), "first": some_key(random),
            "second": some_key(random), "secret": encode(random.randbytes(random.randint(8, 40)))}
    written = [peer("qr.write", **code)["code"] for peer in (writer, reader)]
    must(written[0] == written[1], "two codes")
    must(reader("qr.read", code=written[0]) == code, "another code")
    raw = decode(written[0])
    cut = encode(raw[:random.randrange(len(raw))])
    same_outcome(lambda peer: peer("qr.read", code=cut), writer, reader)
    return {"read": 1, "cut": 1}


# ------------------------------------------------------------------------------------------------- what is stored

def same_outcome(call, *peers):
    """Whether both accept it, with the same result. Returns whether they do."""
    outcomes = []
    for peer in peers:
        try:
            outcomes.append(call(peer))
        except Refused:
            outcomes.append(None)
    must(outcomes[0] == outcomes[1], f"two outcomes: {outcomes}")
    return outcomes[0] is not None


def backup(random, writer, reader):
    private, text = some_key(random), some_text(random)
    publics = [peer("backup.public", private=private)["public"] for peer in (writer, reader)]
    must(publics[0] == publics[1], "two public keys")
    data = writer("backup.encrypt", public=publics[0], text=text)["data"]
    for peer in (writer, reader):
        must(peer("backup.decrypt", private=private, data=data)["text"] == text, "another text")
    for member in ("mac", "ephemeral"):
        wrong = {**data, member: changed(random, data[member])}
        refuses("a wrong " + member, lambda: reader("backup.decrypt", private=private, data=wrong))
    refuses("another key", lambda: reader("backup.decrypt", private=some_key(random), data=data))
    # The code does not cover it: both must make the same of it.
    wrong = {**data, "ciphertext": damaged(random, data["ciphertext"])}
    taken = same_outcome(lambda peer: peer("backup.decrypt", private=private, data=wrong), writer, reader)
    return {"read": 2, "refused": 3, "damaged and taken by both": int(taken), "refused by both": int(not taken)}


def export(random, writer, reader):
    text, passphrase, rounds = some_text(random), some_words(random, 30), random.randint(1, 2_000)
    if not (writer.is_strict and reader.is_strict):
        passphrase = passphrase.encode("ascii", "backslashreplace").decode()
    file = writer("export.write", text=text, passphrase=passphrase, rounds=rounds)["file"]
    for peer in (writer, reader):
        must(peer("export.read", file=file, passphrase=passphrase)["text"] == text, "another text")
    refuses("another passphrase", lambda: reader("export.read", file=file, passphrase=passphrase + "x"))
    # Behind the rounds, so that nobody works for hours.
    lines = file.splitlines(keepends=True)
    raw = bytearray(decode("".join(line.strip() for line in lines[1:-1]).rstrip("=")))
    raw[random.randrange(37, len(raw))] ^= 1 << random.randrange(8)
    wrong = lines[0] + encode(bytes(raw)) + "=" * (-len(raw) % 3) + "\n" + lines[-1]
    refuses("a damaged file", lambda: reader("export.read", file=wrong, passphrase=passphrase))
    return {"read": 2, "refused": 2}


def attachment(random, writer, reader):
    text = some_text(random)
    made = writer("attachment.encrypt", text=text)
    for peer in (writer, reader):
        must(peer("attachment.decrypt", **made)["text"] == text, "another text")
    if made["data"]:
        wrong = damaged(random, made["data"])
        refuses("a damaged file", lambda: reader("attachment.decrypt", data=wrong, file=made["file"]))
    return {"read": 2, "damaged": int(bool(made["data"]))}


def some_json(random, depth):
    kind = random.randrange(8 if depth else 6)
    if kind == 0:
        return random.choice([True, False, None])
    if kind in (1, 2):
        return random.choice([0, random.randrange(100), -random.randrange(1 << 53), (1 << 53) - 1])
    if kind < 6:
        return some_words(random)
    if kind == 6:
        return [some_json(random, depth - 1) for _ in range(random.randrange(4))]
    return {some_words(random, 4): some_json(random, depth - 1) for _ in range(random.randrange(5))}


def signed(random, signer, checker):
    content = {some_words(random, 4): some_json(random, 3) for _ in range(random.randrange(6))}
    user, id = "@a:hs", "ed25519:D" + str(random.randrange(1000))
    made = signer("signed.sign", object={**content, "unsigned": {"x": 1}}, seed=some_key(random), user=user, id=id)
    object, key = made["object"], made["key"]
    for peer in (signer, checker):
        peer("signed.verify", object=object, key=key, user=user, id=id)
    checker("signed.verify", object={**object, "unsigned": {"y": 2}}, key=key, user=user, id=id)
    wrong = {**object, "added": some_json(random, 1)}
    refuses("a changed object", lambda: checker("signed.verify", object=wrong, key=key, user=user, id=id))
    refuses("another key", lambda: checker("signed.verify", object=object, key=some_key(random), user=user, id=id))
    both = signer("signed.sign", object=object, seed=some_key(random), user="@b:hs", id=id)
    checker("signed.verify", object=both["object"], key=both["key"], user="@b:hs", id=id)
    checker("signed.verify", object=both["object"], key=key, user=user, id=id)
    return {"verified": 5, "refused": 2}


def recovery(random, writer, reader):
    key = some_key(random)
    words = [peer("recovery.write", key=key)["words"] for peer in (writer, reader)]
    must(words[0] == words[1], "two texts")
    spaced = words[0].replace(" ", random.choice(["", " ", "\n"]))
    must(reader("recovery.read", words=spaced)["key"] == key, "another key")
    wrong = changed(random, words[0])
    same_outcome(lambda peer: peer("recovery.read", words=wrong), writer, reader)
    return {"read": 1, "misspelled": 1}


def secrets(random, writer, reader):
    key, name, text = some_key(random), some_words(random), some_text(random)
    secret = writer("secrets.encrypt", key=key, name=name, text=text)["secret"]
    must(reader("secrets.decrypt", key=key, name=name, secret=secret)["text"] == text, "another text")
    refuses("another name", lambda: reader("secrets.decrypt", key=key, name=name + "x", secret=secret))
    refuses("another key", lambda: reader("secrets.decrypt", key=some_key(random), name=name, secret=secret))
    describing = writer if "secrets.describe" in writer.operations else reader
    checking = reader if describing is writer else writer
    passphrase = some_words(random, 20)
    made = describing("secrets.describe", passphrase=passphrase, iterations=random.randint(1, 2_000))
    derived = checking("secrets.derive", passphrase=passphrase, description=made["description"])
    must(derived["key"] == made["key"], "another key")
    checking("secrets.check", key=made["key"], description=made["description"])
    refuses("a wrong key", lambda: checking("secrets.check", key=some_key(random), description=made["description"]))
    return {"read": 1, "refused": 3, "passphrases": 1}
