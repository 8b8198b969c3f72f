import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct MatrixPollTests {
    private func poll(max: Int? = nil, isDisclosed: Bool = true) throws -> MatrixPoll {
        let limit = max.map { #""max_selections":\#($0),"# } ?? ""
        return try #require(
            MatrixPoll(
                try JSONView(
                    text: #"""
                        {"m.poll":{"kind":"m.\#(isDisclosed ? "" : "un")disclosed",\#(limit)"question":{"m.text":"Q"},
                        "answers":[{"m.id":"a","m.text":"A"},{"m.id":"b","m.text":"B"},{"m.id":"c","m.text":"C"}]}}
                        """#)))
    }

    private func vote(
        _ selections: [Any]?, by sender: String = "@a:x", ts: UInt64 = 10, id: String? = nil, isStable: Bool = true
    ) throws -> MXEvent {
        var content: [String: Any] = ["m.relates_to": ["rel_type": "m.reference", "event_id": "$p"]]
        if isStable {
            content["m.selections"] = selections
        } else {
            content["org.matrix.msc3381.poll.response"] = selections.map { ["answers": $0] }
        }
        return try .make(
            isStable ? "m.poll.response" : "org.matrix.msc3381.poll.response", content, id: id ?? "$\(sender)-\(ts)",
            sender: sender, ts: ts)
    }

    private func end(by sender: String = "@asker:x", ts: UInt64 = 20, isStable: Bool = true) throws -> MXEvent {
        try .make(
            isStable ? "m.poll.end" : "org.matrix.msc3381.poll.end",
            ["m.relates_to": ["rel_type": "m.reference", "event_id": "$p"], "m.poll.results": ["a": 99]],
            id: "$end-\(sender)-\(ts)", sender: sender, ts: ts)
    }

    private func counted(_ events: [MXEvent], max: Int? = nil, isDisclosed: Bool = true) throws -> MatrixPoll {
        var poll = try poll(max: max, isDisclosed: isDisclosed)
        poll.count(events, sender: "@asker:x", currentUser: "@a:x") { $0 == "@admin:x" }
        return poll
    }

    private func votes(_ events: [MXEvent], max: Int? = nil) throws -> [Int?] {
        try counted(events, max: max).answers.map(\.votes)
    }

    @Test func theNewestVoteOfEachUserCounts_inAnyOrder() throws {
        let events = [
            try vote(["b"], ts: 12), try vote(["a"], ts: 11), try vote(["a"], by: "@b:x"),
            try vote(["a"], by: "@c:x", isStable: false),
        ]
        #expect(try votes(events) == [2, 1, 0])
        #expect(try votes(events.reversed()) == [2, 1, 0])
        #expect(try counted(events).voterCount == 3)
        #expect(try counted(events).answers.map(\.isOwn) == [false, true, false])
        // Of two simultaneous votes, the one with the greater ID.
        #expect(try votes([try vote(["a"], id: "$2"), try vote(["b"], id: "$1")]) == [1, 0, 0])
    }

    @Test(
        arguments: [
            (["nowhere"], 1, [0, 0, 0]), (["a", "nowhere"], 1, [1, 0, 0]), (["a", "nowhere"], 2, [0, 0, 0]),
            (["a", "b", "c"], 2, [1, 1, 0]), (["a", "a"], 2, [1, 0, 0]), ([], 1, [0, 0, 0]),
            (["a", "b"], 0, [1, 0, 0]),
            (["a", "b"], -3, [1, 0, 0]), (["c", "b", "a"], Int.max, [1, 1, 1]),
        ] as [([String], Int, [Int])])
    func selectionsAreCutFirst_andAnUnknownOneSpoilsTheVote(selections: [String], max: Int, expected: [Int]) throws {
        #expect(try votes([try vote(selections)], max: max) == expected)
        #expect(try votes([try vote(selections, isStable: false)], max: max) == expected)
    }

    @Test func aSpoiltVote_orOneTakenBack_hidesTheOneBefore() throws {
        for newest in [["nowhere"], [], [7], nil] as [[Any]?] {
            let events = [try vote(["a"]), try vote(newest, ts: 11)]
            #expect(try votes(events) == [0, 0, 0])
            #expect(try counted(events).voterCount == 0)
        }
    }

    @Test func aRedactedVoteFallsOut_andTheOneBeforeCountsAgain() throws {
        let redacted = try vote(["b"], ts: 11).pruned(by: try .make("m.room.redaction", id: "$r"), roomVersion: "11")
        #expect(try votes([try vote(["a"]), redacted]) == [1, 0, 0])
    }

    @Test func afterTheEndNothingCounts_whoseEndCountsToo() throws {
        let events = [
            try vote(["a"], ts: 0), try vote(["b"], by: "@b:x", ts: 20), try vote(["c"], by: "@c:x", ts: 21),
            try vote(["c"], ts: 21),
        ]
        #expect(try votes(events) == [0, 1, 2])
        for end in [try end(), try end(by: "@admin:x"), try end(isStable: false)] {
            #expect(try votes(events + [end]) == [1, 1, 0])
            #expect(try counted(events + [end]).isEnded)
        }
        #expect(try votes(events + [try end(ts: 30), try end(ts: 20)]) == [1, 1, 0])
        #expect(try !counted(events + [try end(by: "@mallory:x")]).isEnded)
    }

    @Test func resultsThatAreNotDisclosedComeAtTheEnd() throws {
        let running = try counted([try vote(["a"])], isDisclosed: false)
        #expect(running.answers.map(\.votes) == [nil, nil, nil] && running.voterCount == 1)
        #expect(running.answers.first?.isOwn == true)
        let ended = try counted([try vote(["a"]), try end()], isDisclosed: false)
        #expect(ended.answers.map(\.votes) == [1, 0, 0])
    }

    @Test(
        arguments: [
            #"{}"#, #"{"m.poll":7}"#, #"{"m.poll":{"question":{"m.text":"Q"}}}"#,
            #"{"m.poll":{"question":{"m.text":"Q"},"answers":[]}}"#,
            #"{"m.poll":{"question":{"m.text":"Q"},"answers":{"m.id":"a"}}}"#,
            #"{"m.poll":{"question":{"m.text":"Q"},"answers":[{"m.text":"A"},7,{"m.id":"a"}]}}"#,
            #"{"m.poll":{"question":7,"answers":[{"m.id":"a","m.text":"A"}]}}"#,
            #"{"m.poll":{"answers":[{"m.id":"a","m.text":"A"}]}}"#,
        ])
    func withoutAQuestionAndAnswersItIsNoPoll(content: String) throws {
        let json = try JSONView(text: content)
        #expect(MatrixPoll(json) == nil)
    }

    @Test func answersBeyondTheTwentiethAreLeftOut_andSoAreRepeatedIds() throws {
        let answers = (0..<10_000).map { #"{"id":"\#($0 % 19)","org.matrix.msc1767.text":"\#($0)"}"# }
        let poll = try #require(
            MatrixPoll(
                try JSONView(
                    text: #"""
                        {"org.matrix.msc3381.poll.start":{"question":{"org.matrix.msc1767.text":"Q"},
                        "answers":[\#(answers.joined(separator: ","))]}}
                        """#)))
        #expect(poll.answers.map(\.text) == (0..<19).map(String.init))
        #expect(!poll.isDisclosed && poll.maxSelections == 1)
    }

    @Test(
        arguments: [
            #"{"m.text":"t"}"#, #"{"m.text":[{"body":"t"}]}"#,
            #"{"m.text":[{"body":"<b>","mimetype":"text/html"},{"body":"t"}]}"#,
            #"{"m.text":[{"body":"t","mimetype":"text/html"}]}"#, #"{"org.matrix.msc1767.text":"t","body":"u"}"#,
            #"{"org.matrix.msc1767.message":[{"body":"t"}]}"#, #"{"body":"t"}"#, #"{"m.text":[],"body":"t"}"#,
        ])
    func textsHaveSeveralForms(json: String) throws {
        #expect(try JSONView(text: json).extensibleText == "t")
    }
}
