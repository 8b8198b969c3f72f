import TestSupport
import Testing

@testable import PusherMockServer

struct SubscriptionCountTests {
    private func count(_ count: Int) -> String {
        #"{"event":"pusher_internal:subscription_count","channel":"c","data":"{\"subscription_count\":\#(count)}"}"#
    }

    @Test func everybodyIsToldOfEveryChange() throws {
        var stage = Stage(.init(sendsSubscriptionCounts: true))
        for id in ["1.1", "1.2", "1.3"] { try stage.connect(id) }
        #expect(try stage.subscribe("1.1", to: "c") == ["1.1 \(succeeded("c"))", "1.1 \(count(1))"])
        #expect(
            try stage.subscribe("1.2", to: "c") == ["1.2 \(succeeded("c"))", "1.1 \(count(2))", "1.2 \(count(2))"])
        try stage.subscribe("1.3", to: "c")
        #expect(try stage.unsubscribe("1.3", from: "c") == ["1.1 \(count(2))", "1.2 \(count(2))"])
        #expect(try stage.disconnect("1.2") == ["1.1 \(count(1))"])
    }

    @Test func onlyOnDemandAndNotOnPresenceChannels() throws {
        var silent = Stage()
        try silent.connect("1.1")
        #expect(try silent.subscribe("1.1", to: "c") == ["1.1 \(succeeded("c"))"])
        var stage = Stage(.init(sendsSubscriptionCounts: true))
        try stage.connect("1.1")
        #expect(try stage.subscribe("1.1", to: "presence-x", channelData: #"{"user_id":"u"}"#).count == 1)
    }

    @Test func largeChannelIsCountedEveryFiveSeconds() throws {
        var stage = Stage(.init(sendsSubscriptionCounts: true))
        for number in 1...103 { try stage.connect("1.\(number)") }
        for number in 1...101 { try stage.subscribe("1.\(number)", to: "c") }
        stage.time = 4
        #expect(try stage.subscribe("1.102", to: "c") == ["1.102 \(succeeded("c"))"])
        #expect(try stage.subscribe("1.103", to: "c") == ["1.103 \(succeeded("c"))"])
        let later = stage.nextDeadline() ?? []
        #expect(stage.time == 5)
        #expect(later.count == 103 && later.allSatisfy { $0.hasSuffix(count(103)) })
        #expect(stage.application.nextDeadline == nil)
        stage.time = 20
        #expect(try stage.unsubscribe("1.103", from: "c").count == 102)
    }
}
