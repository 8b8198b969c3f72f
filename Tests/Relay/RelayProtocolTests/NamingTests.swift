import RelayProtocol
import Testing

/// Names from peers as parts of subjects and headers (the reference's tables 2.5 and 2.6).
struct NamingTests {
    @Test(arguments: [
        ("price", "price"), ("presence-room.1", "presence-room=2E1"),
        ("private-encrypted-a_b", "private-encrypted-a_b"),
        ("!abc:example.org", "=21abc=3Aexample=2Eorg"), ("m.room.message", "m=2Eroom=2Emessage"), ("a b", "a=20b"),
        ("*", "=2A"), (">", "=3E"), ("café", "caf=C3=A9"), ("", "="), ("=", "=3D"), ("my=2E", "my=3D2E"),
        ("client-ev@x,y;z", "client-ev=40x=2Cy=3Bz"), ("日本", "=E6=97=A5=E6=9C=AC"), ("tab\tnl\n", "tab=09nl=0A"),
    ]) func aNameIsOneToken(name: String, token: String) {
        #expect(SubjectToken.encode(name) == token)
        #expect(SubjectToken.decode(token) == name)
    }

    @Test(arguments: ["", "=2", "=2e", "=41", "=GG", "a.b", "é", "=FF", "a b", "*", "=~00"])
    func whatIsNoTokenIsRefused(token: String) { #expect(SubjectToken.decode(token) == nil) }

    @Test func aLongNameIsADigest() {
        let name = String(repeating: "x", count: 129)
        #expect(SubjectToken.encode(String(name.dropLast())).utf8.count == 128)
        let token = SubjectToken.encode(name)
        #expect(token.utf8.count == 34 && token.hasPrefix("=~"))
        #expect(SubjectToken.encode(name + "x") != token)
        #expect(SubjectToken.decode(token) == nil)
    }

    @Test(arguments: [
        ("café", "caf%C3%A9"), (" a b ", "%20a b%20"), ("", "%"), ("%", "%25"), ("100%", "100%25"),
        ("a\r\nX: y", "a%0D%0AX: y"), ("Nats-Msg-Id", "Nats%2DMsg-Id"), ("Nats-", "Nats%2D"), ("NNats-", "NNats%2D"),
        ("NatNats-", "NatNats%2D"), ("Nats-Nats-", "Nats%2DNats%2D"), ("Nat-s", "Nat-s"), ("tab\t", "tab%09"),
        ("日", "%E6%97%A5"), ("user:1", "user:1"), ("~\u{7F}", "~%7F"), (" ", "%20"),
    ]) func aTextIsAHeader(text: String, value: String) {
        #expect(HeaderValue.encode(text) == value)
        #expect(HeaderValue.decode(value) == text)
    }

    @Test(arguments: ["%4", "%GG", "a%", "%ff", "%FF"]) func whatIsNoHeaderIsRefused(value: String) {
        #expect(HeaderValue.decode(value) == nil)
    }
}
