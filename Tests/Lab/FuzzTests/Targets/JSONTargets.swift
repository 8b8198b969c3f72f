import Foundation
import JSONBytes
import PusherProtocol
import Realtime

/// For a JSON string that our scanner finds well-formed, the scanner and Foundation agree on the content.
func fuzzJSONStrings(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard String(validating: bytes, as: UTF8.self) != nil, isInside(bytes) else { return }
    let quoted = Data([UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")])
    let expected = (try? JSONSerialization.jsonObject(with: quoted, options: .fragmentsAllowed)) as? String
    try claim("Foundation accepts it", expected != nil)
    try claim("same text", isIdentical(bytes.withUnsafeBufferPointer { JSONString.unescape($0) }, expected))
    if let expected {
        let again = JSON.value(JSONString.quoted(expected)) as? String
        try claim("quoted and read again it is the same", isIdentical(again, expected))
    }
}

/// Whether the bytes could stand between quotes, by the scanner's rules.
private func isInside(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { buffer in
        var index = 0
        while index < buffer.count {
            switch buffer[index] {
            case UInt8(ascii: "\""), 0..<0x20: return false
            case UInt8(ascii: "\\"):
                guard let width = JSONString.escapeWidth(buffer, at: index) else { return false }
                index += width
            default: index += 1
            }
        }
        return true
    }
}

func fuzzPresence(_ bytes: [UInt8]) throws(BrokenClaim) {
    let text = String(decoding: bytes, as: UTF8.self)
    if var members = PresenceList(Array(text.utf8))?.members {
        try claim("as many as listed", members.count == members.all.count)
        for member in members.all {
            try claim("each can be found", members[member.userID]?.userInfo == member.userInfo)
            try claim("each has an id", !member.userID.isEmpty)
            try claim("info is JSON", member.userInfo.map { JSONView.isJSON($0) } ?? true)
        }
        let first = members.all.first
        try claim("a known member is not new", first.map { members.add($0) == .known } ?? true)
        try claim(
            "a removed member is gone",
            first.map { members.remove(userID: $0.userID) != nil && members[$0.userID] == nil } ?? true)
    }
    if let member = PresenceMembers.Member(data: text) {
        try claim("info is JSON", member.userInfo.map { JSONView.isJSON($0) } ?? true)
    }
}

func fuzzUsers(_ bytes: [UInt8]) throws(BrokenClaim) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let user = SignedInUser(signinData: text) {
        try claim("a user has an id", !user.id.isEmpty)
        try claim("user data is JSON", JSON.object(user.data)?["id"] as? String == user.id)
    }
    for change in (try? WatchlistChange.list(text)) ?? [] {
        try claim("an entry is JSON", JSON.object(change.data)?["name"] as? String == change.name)
    }
}

func fuzzAuth(_ bytes: [UInt8]) throws(BrokenClaim) {
    switch Result(catching: { () throws(AuthFailure) in try AuthAnswer(body: bytes) }) {
    case .success(let answer):
        let object = JSON.object(String(decoding: bytes, as: UTF8.self))
        try claim("auth is the answer's", isIdentical(answer.auth, object?["auth"] as? String))
        if let key = answer.channelKey { try claim("a key has 32 bytes", ChannelKey(base64: key.base64) == key) }
        let frame = ClientFrame.signIn(auth: answer.auth, userData: answer.channelData ?? "").text
        let sent = JSON.object(frame)?["data"] as? [String: Any]
        try claim("what is sent on is the same", isIdentical(sent?["auth"] as? String, answer.auth))
    case .failure(let failure): try check(failure)
    }
    switch Result(catching: { () throws(AuthFailure) in try UserAuthAnswer(body: bytes) }) {
    case .success(let answer):
        let frame = ClientFrame.signIn(auth: answer.auth, userData: answer.userData).text
        let sent = JSON.object(frame)?["data"] as? [String: Any]
        try claim("what is sent on is the same", isIdentical(sent?["user_data"] as? String, answer.userData))
    case .failure(let failure): try check(failure)
    }
}

private func check(_ failure: AuthFailure) throws(BrokenClaim) {
    let reasons = [
        "its answer is empty", "its answer is not a JSON object", "it answered HTML instead of a JSON object",
        "its answer has no auth", "its answer has no user_data", "the auth in its answer is not a string",
        "the channel_data in its answer is not a string", "the shared_secret in its answer is not a string",
        "the user_data in its answer is not a string",
    ]
    try claim("a reason holds nothing of the body", reasons.contains(failure.reason))
}

/// Data of an encrypted event; the same bytes are also encrypted and decrypted.
func fuzzEncryption(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let key = ChannelKey(base64: "jLl7T7Vic8zzeBQOhI8a5zJ4iMwqc2omg0xT37NC5hs="),
        let other = ChannelKey([UInt8](repeating: 8, count: SecretBox.keySize))
    else { return }
    let text = String(decoding: bytes, as: UTF8.self)
    let sealed = key.encrypt(text, nonce: [UInt8](repeating: 1, count: SecretBox.nonceSize))
    try claim("what was encrypted opens", isIdentical(try? key.decrypt(sealed), text))
    try claim("another key does not open it", (try? other.decrypt(sealed)) == nil)
    if (try? key.decrypt(text)) != nil {
        // The corpus contains a box with this key.
        try claim("no two keys open a box", (try? other.decrypt(text)) == nil)
    }
}
