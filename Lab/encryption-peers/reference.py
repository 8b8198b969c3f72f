"""A second implementation as a peer: a Python module whose functions work on bytes, slow and plain, for runs by hand.

    reference.py PATH"""

import importlib.util
import os
import sys

from peer import decode, encode, serve

spec = importlib.util.spec_from_file_location("reference_module", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


class Reference:
    def __init__(self):
        self._accounts, self._sessions, self._outbound, self._inbound, self._sas = {}, {}, {}, {}, {}

    def olm_account(self, account, keys):
        private = [os.urandom(32) for _ in range(keys)]
        fallback = os.urandom(32)
        made = module.OlmAccount(os.urandom(32), os.urandom(32), private, [fallback])
        self._accounts[account] = made
        return {"curve25519": encode(made.curve), "ed25519": encode(made.ed),
                "keys": [encode(module.x_public(key)) for key in private],
                "fallback": encode(module.x_public(fallback))}

    def olm_open(self, account, session, identity, key):
        made = self._accounts[account].outbound(
            module.unb64(identity), module.unb64(key), os.urandom(32), os.urandom(32))
        self._sessions[session] = made
        return {"id": made.id}

    def olm_accept(self, account, session, sender, body):
        made, text = self._accounts[account].inbound(module.unb64(body), module.unb64(sender))
        self._sessions[session] = made
        return {"id": made.id, "text": encode(text)}

    def olm_encrypt(self, session, text):
        kind, body = self._sessions[session].encrypt(decode(text), os.urandom(32))
        return {"type": kind, "body": encode(body)}

    def olm_decrypt(self, session, type, body):
        known, raw = self._sessions[session], module.unb64(body)
        if type == 0 and not known.matches(raw):
            raise module.Refused("no session")
        return {"text": encode(known.decrypt(type, raw))}

    def megolm_make(self, session, index):
        seed, parts = os.urandom(32), [os.urandom(32) for _ in range(4)]
        self._outbound[session] = seed, module.megolm_advance(parts, 0, index)[0], index
        return {"id": encode(module.ed_public(seed))}

    def megolm_skip(self, session, index):
        seed, parts, present = self._outbound[session]
        self._outbound[session] = seed, module.megolm_advance(parts, present, index)[0], index

    def megolm_key(self, session):
        return {"key": encode(module.session_key_share(*self._outbound[session]))}

    def megolm_encrypt(self, session, text):
        seed, parts, index = self._outbound[session]
        body = module.megolm_encrypt(seed, parts, index, decode(text))
        self._outbound[session] = seed, *module.megolm_step(parts, index)
        return {"index": index, "body": encode(body)}

    def megolm_receive(self, session, key):
        return self._add(session, module.MegolmInbound(module.unb64(key)))

    def megolm_import(self, session, key):
        return self._add(session, module.MegolmInbound(module.unb64(key), True))

    def _add(self, session, made):
        self._inbound[session] = made
        return {"id": made.id, "first": made.first}

    def megolm_decrypt(self, session, body):
        text, index = self._inbound[session].decrypt(module.unb64(body))
        return {"text": encode(text), "index": index}

    def megolm_export(self, session, index):
        return {"key": encode(self._inbound[session].export_at(index))}

    def megolm_connected(self, session, other):
        return {"connected": self._inbound[session].same_session(self._inbound[other])}

    def sas_make(self, sas):
        self._sas[sas] = os.urandom(32)
        return {"key": encode(module.x_public(self._sas[sas]))}

    def sas_agree(self, sas, key):
        self._sas[sas] = module.ecdh(self._sas[sas], module.unb64(key))

    def sas_compare(self, sas, starter, accepter, transaction):
        raw = module.hkdf(self._sas[sas], module.sas_info(starter, accepter, transaction).encode(), 6)
        return {"emoji": module.sas_emoji(raw), "decimals": module.sas_decimal(raw)}

    def sas_codes(self, sas, method, sender, receiver, transaction, keys):
        code = self._code(sas, method, sender, receiver, transaction)
        return {"content": {"mac": {id: code(key, id) for id, key in keys.items()},
                            "keys": code(",".join(sorted(keys)), "KEY_IDS")}}

    def sas_check(self, sas, method, sender, receiver, transaction, content, keys):
        code = self._code(sas, method, sender, receiver, transaction)
        wanted = {id: code(key, id) for id, key in keys.items() if id in content["mac"]}
        right = content["keys"] == code(",".join(sorted(content["mac"])), "KEY_IDS")
        if not right or any(content["mac"][id] != mac for id, mac in wanted.items()):
            raise module.Refused("mac")
        return {"keys": sorted(wanted)}

    def _code(self, sas, method, sender, receiver, transaction):
        text = "MATRIX_KEY_VERIFICATION_MAC" + "".join(sender[:2] + receiver[:2]) + transaction
        spelled = module.b64 if method.endswith(".v2") else module.broken_base64
        return lambda what, id: spelled(module.sas_mac(self._sas[sas], what, text + id))

    def sas_commitment(self, key, start):
        return {"commitment": module.sas_commitment(key, start)}

    def qr_write(self, mode, id, first, second, secret):
        return {"code": encode(module.qr_encode(mode, id, decode(first), decode(second), decode(secret)))}

    def qr_read(self, code):
        mode, id, first, second, secret = module.qr_decode(decode(code))
        return {"mode": mode, "id": id, "first": encode(first), "second": encode(second), "secret": encode(secret)}

    def backup_public(self, private):
        return {"public": encode(module.x_public(decode(private)))}

    def backup_encrypt(self, public, text):
        return {"data": module.backup_encrypt(module.unb64(public), decode(text), os.urandom(32))}

    def backup_decrypt(self, private, data):
        return {"text": encode(module.backup_decrypt(decode(private), data))}

    def recovery_write(self, key):
        return {"words": module.recovery_encode(decode(key))}

    def recovery_read(self, words):
        return {"key": encode(module.recovery_decode(words))}

    def secrets_encrypt(self, key, name, text):
        return {"secret": module.secret_encrypt(decode(key), name, decode(text), os.urandom(16))}

    def secrets_decrypt(self, key, name, secret):
        return {"text": encode(module.secret_decrypt(decode(key), name, secret))}

    def secrets_derive(self, passphrase, description):
        return {"key": encode(module.passphrase_key(passphrase, description["passphrase"]))}

    def secrets_check(self, key, description):
        module.secret_key_check(decode(key), description)

    def export_write(self, text, passphrase, rounds):
        return {"file": module.export_encrypt(decode(text), passphrase, os.urandom(16), os.urandom(16), rounds)}

    def export_read(self, file, passphrase):
        return {"text": encode(module.export_decrypt(file, passphrase))}

    def attachment_encrypt(self, text):
        data, file = module.attachment_encrypt(decode(text), os.urandom(32), os.urandom(8))
        return {"data": encode(data), "file": file}

    def attachment_decrypt(self, data, file):
        return {"text": encode(module.attachment_decrypt(decode(data), file))}

    def signed_sign(self, object, seed, user, id):
        signed = module.sign_json(object, decode(seed), user, id)
        return {"object": signed, "key": encode(module.ed_public(decode(seed)))}

    def signed_verify(self, object, key, user, id):
        module.verify_json(object, key, user, id)


serve(Reference(), lambda error: str(error) if isinstance(error, module.Refused) else None)
