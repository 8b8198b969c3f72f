import Basics
import Foundation
import TestSupport
import Testing

@testable import PusherMockServer

private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

struct RateLimiterTests {
    @Test func admitsTheLimitInAnySecond() {
        var limiter = RateLimiter(limit: 2)
        let answers = [0, 600, 999, 1000, 1599, 1600].map { limiter.admits(now: at($0)) }
        #expect(answers == [true, true, false, true, false, true])
    }

    @Test func refusedOnesDoNotCount() {
        var limiter = RateLimiter(limit: 1)
        let answers = [0, 300, 600, 900, 1000].map { limiter.admits(now: at($0)) }
        #expect(answers == [true, false, false, false, true])
    }
}

struct KeepAliveTests {
    @Test func pingsAfterSilenceAndGivesUpWithoutAnswer() {
        var keepAlive = KeepAlive(pingAfter: .seconds(120), pongTimeout: .seconds(30), now: at(0))
        let actions = [0, 120_000, 149_000, 150_000].map { keepAlive.timerFired(now: at($0)) }
        #expect(actions == [.wait(.seconds(120)), .ping(.seconds(30)), .wait(.seconds(1)), .giveUp])
    }

    @Test func anyFrameStartsTheSilenceAnew() {
        var keepAlive = KeepAlive(pingAfter: .seconds(10), pongTimeout: .seconds(30), now: at(0))
        keepAlive.frameReceived(now: at(4_000))
        var actions = [10_000, 14_000].map { keepAlive.timerFired(now: at($0)) }
        #expect(actions == [.wait(.seconds(4)), .ping(.seconds(10))])
        keepAlive.frameReceived(now: at(15_000))
        actions = [24_000, 25_000].map { keepAlive.timerFired(now: at($0)) }
        #expect(actions == [.wait(.seconds(1)), .ping(.seconds(10))])
    }

    @Test(.regression("A time of zero kept the event loop busy until the client was given up."))
    func timesOfZeroDoNotKeepTheEventLoopBusy() {
        for (pingAfter, pongTimeout) in [(Duration.zero, Duration.seconds(30)), (.seconds(30), .zero), (.zero, .zero)] {
            var keepAlive = KeepAlive(pingAfter: pingAfter, pongTimeout: pongTimeout, now: at(0))
            for moment in [0, 30_000, 30_001] as [Int64] {
                switch keepAlive.timerFired(now: at(moment)) {
                case .wait(let delay), .ping(let delay): #expect(delay >= Duration.milliseconds(10))
                case .giveUp: break
                }
            }
        }
    }
}

struct FaultQueueTests {
    @Test func faultsStrikeInOrderAndAsOftenAsArmed() {
        var queue = FaultQueue<String>()
        queue.arm("first", next: 2, app: nil)
        queue.arm("never", next: 0, app: nil)
        queue.arm("second", next: nil, app: "a")
        let struck = ["b", "a", "b", "a", "a"].map { queue.take(app: $0) }
        #expect(struck == ["first", "first", nil, "second", "second"])
        queue.clear()
        let later = queue.take(app: "a")
        #expect(later == nil)
    }

    @Test func unwantedFaultStaysArmed() {
        var queue = FaultQueue<Int>()
        queue.arm(1, next: 1, app: nil)
        let struck = [queue.take(app: nil, where: { $0 == 2 }), queue.take(app: nil)]
        #expect(struck == [nil, 1])
    }

    @Test func allThatIsMeantStrikesOnce() {
        var queue = FaultQueue<Int>()
        queue.arm(1, next: 1, app: nil)
        queue.arm(2, next: nil, app: "a")
        queue.arm(3, next: nil, app: "b")
        let struck = [queue.takeAll(app: "a"), queue.takeAll(app: "a")]
        #expect(struck == [[1, 2], [2]])
    }
}

struct FormTests {
    /// The results of `URLSearchParams` for the same texts.
    @Test(
        arguments: [
            ("", []), ("a", [("a", "")]), ("a=", [("a", "")]), ("=a", [("", "a")]),
            ("&&a=1&&b=2&", [("a", "1"), ("b", "2")]), ("a=b=c", [("a", "b=c")]), ("a+b=+c+", [("a b", " c ")]),
            ("a=%2B%26%3D%25", [("a", "+&=%")]), ("a=%c3%A9", [("a", "é")]), ("a=%2", [("a", "%2")]),
            ("a=+%zz", [("a", " %zz")]),
        ] as [(String, [(String, String)])])
    func aFormIsReadAsOthersReadIt(text: String, fields: [(String, String)]) {
        #expect(
            RequestTarget.parameters(of: text) == fields.map { RequestTarget.Parameter(name: $0.0, value: $0.1) })
    }

    @Test func whatIsEscapedIsReadAsItWas() {
        var random = XorShift(seed: 1)
        let characters: [Character] = ["+", "&", "=", "%", " ", "a", "é", "2"]
        func text() -> String {
            String(
                (0..<Int.random(in: 1...8, using: &random)).map { _ in
                    characters.randomElement(using: &random) ?? "a"
                })
        }
        func escaped(_ text: String) -> String {
            (text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
                .replacing("%20", with: "+")
        }
        for _ in 0..<1000 {
            let fields = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                RequestTarget.Parameter(name: text(), value: text())
            }
            let form = fields.map { "\(escaped($0.name))=\(escaped($0.value))" }.joined(separator: "&")
            #expect(RequestTarget.parameters(of: form) == fields)
        }
    }
}

struct JSONObjectTests {
    @Test(
        arguments: [
            #"{"a":1.50}"#: "1.50", #"{"b":0,"a":{"x":[1,"}"]}}"#: #"{"x":[1,"}"]}"#,
            " {\n\"a\" :\t\"q\\\"\" } \n": #""q\"""#, #"{"\u0061":null}"#: "null", #"{"a":[ ]}"#: "[ ]",
            #"{"a":123456789012345678901234567890}"#: "123456789012345678901234567890",
        ])
    func memberKeepsItsText(object: String, text: String) {
        #expect(JSONObject(object)?.text("a") == text)
    }

    @Test(arguments: ["", "[]", "1", "\"x\"", "{", "{}}", "{\"a\":}", "{\"a\":1,}", "{'a':1}", "nil", "{\"a\":\"\\\"}"])
    func otherTextsAreNoObject(text: String) {
        #expect(JSONObject(text) == nil)
    }

    /// The end of a string is found by its quote. Quotes can be escaped, and so can escapes.
    @Test func stringsOfQuotesAndBackslashesKeepTheirText() throws {
        var random = XorShift(seed: 1)
        for _ in 0..<1000 {
            let characters: [Character] = ["\\", "\"", "a", ",", "}", ":"]
            let string = String(
                (0..<Int.random(in: 0...12, using: &random)).map { _ in
                    characters.randomElement(using: &random) ?? "a"
                })
            let text = String(
                decoding: try JSONSerialization.data(withJSONObject: string, options: .fragmentsAllowed), as: UTF8.self)
            let object = try #require(JSONObject("{\(text):1,\"after\":\(text)}"))
            #expect(object.text(string) == (string == "after" ? text : "1") && object.text("after") == text)
            #expect(object.string("after") == string)
        }
    }

    @Test func deepNestingIsRefusedOrRead() {
        let text = #"{"a":"# + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000) + "}"
        #expect(JSONObject(text)?.text("b") == nil)
    }
}
