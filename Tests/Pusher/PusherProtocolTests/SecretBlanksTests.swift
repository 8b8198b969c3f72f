import Foundation
import PusherProtocol
import Testing

/// Frames are shown without secrets, wherever those are, and otherwise as they are on the wire.
struct SecretBlanksTests {
    private static let signature = String(repeating: "5e", count: 32)
    private static let sharedSecret = Data(repeating: 7, count: 32).base64EncodedString()
    private let blanks = SecretBlanks(key: "app-key")

    @Test func aSubscriptionKeepsAllButItsSignature() throws {
        let channel = try ChannelName("presence-x")
        let frame = ClientFrame.subscribe(
            channel, auth: "app-key:\(Self.signature)", channelData: #"{"user_id":"ann","user_info":{"a":"ü"}}"#)
        #expect(
            blanks.blanked(frame.text)
                == #"{"event":"pusher:subscribe","data":{"channel":"presence-x","auth":"app-key:…","#
                + #""channel_data":"{\"user_id\":\"ann\",\"user_info\":{\"a\":\"ü\"}}"}}"#)
    }

    @Test func signingInKeepsTheUser() {
        let frame = ClientFrame.signIn(auth: "app-key:\(Self.signature)", userData: #"{"id":"ann"}"#)
        #expect(
            blanks.blanked(frame.text)
                == #"{"event":"pusher:signin","data":{"auth":"app-key:…","user_data":"{\"id\":\"ann\"}"}}"#)
    }

    /// Also despite escapes, other spellings, other types, and JSON within strings within strings.
    @Test(arguments: [
        (#"{"auth":"app-key:S"}"#, #"{"auth":"app-key:…"}"#),
        (#"{ "auth" : "app-key:S" , "x":1}"#, #"{ "auth" : "app-key:…" , "x":1}"#),
        (#"{"\u0061uth":"app-key:S"}"#, #"{"\u0061uth":"app-key:…"}"#),
        (#"{"Auth":"app-key:S"}"#, #"{"Auth":"app-key:…"}"#),
        (#"{"auth":"app\u002dkey:S"}"#, #"{"auth":"app-key:…"}"#),
        (#"{"auth":"other-key:S"}"#, #"{"auth":"…"}"#),
        (#"{"auth":"S"}"#, #"{"auth":"…"}"#),
        (#"{"auth":["app-key:S",{"a":"}"}],"b":"c"}"#, #"{"auth":"…","b":"c"}"#),
        (#"{"auth":12345}"#, #"{"auth":"…"}"#),
        (#"{"auth":null,"b":[]}"#, #"{"auth":null,"b":[]}"#),
        (#"{"shared_secret":"K"}"#, #"{"shared_secret":"…"}"#),
        (#"{"a":[{"shared_secret":"K"}]}"#, #"{"a":[{"shared_secret":"…"}]}"#),
        (
            #"{"data":"{\"auth\":\"app-key:S\",\"shared_secret\":\"K\"}"}"#,
            #"{"data":"{\"auth\":\"app-key:…\",\"shared_secret\":\"…\"}"}"#
        ),
        (#"{"data":"\"{\\\"auth\\\":\\\"app-key:S\\\"}\""}"#, #"{"data":"\"{\\\"auth\\\":\\\"app-key:…\\\"}\""}"#),
        (#"{"event":"client-x","data":"see app-key:S."}"#, #"{"event":"client-x","data":"see app-key:…."}"#),
        (#"{"app-key:S":1}"#, #"{"app-key:…":1}"#),
        (
            #"{"event":"pusher:error","data":{"message":"Invalid signature: expected S, but got S"}}"#,
            #"{"event":"pusher:error","data":{"message":"Invalid signature: expected …, but got …"}}"#
        ),
        (
            #"{"event":"pusher:subscription_error","channel":"private-S","data":"{\"error\":\"S\"}"}"#,
            #"{"event":"pusher:subscription_error","channel":"private-S","data":"{\"error\":\"…\"}"}"#
        ),
        (
            #"{"event":"e","data":"cannot read {\"auth\":\"S\" of it"}"#,
            #"{"event":"e","data":"cannot read {\"auth\":\"…\" of it"}"#
        ),
        (#"["auth","app-key:S"]"#, #"["auth","app-key:…"]"#),
        (#"{"auth":"app-key:S""#, #"{"auth":"app-key:…""#),
        (#"x"{"auth":"S","shared_secret":"K"}"#, #"x"{"auth":"…","shared_secret":"…"}"#),
        ("app-key:S", "app-key:…"), ("S", "…"), ("K", "…"),
    ])
    func aSecretIsBlankedWhereverItStands(frame: String, shown: String) {
        // No other word contains a capital S or K.
        let full = frame.replacing("S", with: Self.signature).replacing("K", with: Self.sharedSecret)
        let expected = shown.replacing("S", with: Self.signature)
        let blanked = blanks.blanked(full)
        #expect(blanked == expected)
        #expect(!blanked.contains(Self.sharedSecret))
    }

    @Test(arguments: [
        #"{"event":"e","channel":"c","data":"{\"hash\":\"S\",\"n\":1.50,\"t\":\"\\u00fc\"}","user_id":"u"}"#,
        #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\",\"activity_timeout\":120}"}"#,
        #"{"event":"pusher:subscribe","data":{"channel":"private-S"}}"#,
        #"{"event":"e","data":{"a":[1,2,{}],"b":null}}"#,
        #"{"event":"pusher:ping","data":{}}"#, #"{"event":"e","data":"no \ud800 pair"}"#, #"{"event":"e","data":""}"#,
        "no json", "", #"{"#, #"{"event":"e","data":"a key: app-key"}"#, #"{"data":"\/ \u0041"}"#,
    ])
    func everythingElseIsAsItIsOnTheWire(frame: String) {
        let full = frame.replacing("S", with: Self.signature)
        #expect(blanks.blanked(full) == full)
    }

    @Test func withoutAKeyNothingIsTakenForASignature() {
        let blanks = SecretBlanks(key: "")
        #expect(blanks.blanked(#"{"data":"at 12:30:45"}"#) == #"{"data":"at 12:30:45"}"#)
        #expect(blanks.blanked(#"{"auth":"app-key:0"}"#) == #"{"auth":"…"}"#)
    }
}
