import Basics
import TestSupport
import Testing

@testable import PusherMockServer

/// Identifiers compare byte for byte. Each pair here is equal as `String`s.
struct IdentifierTests {
    private static let composed = "\u{E9}ve"
    private static let decomposed = "e\u{301}ve"

    private func member(_ id: String) -> String { #"{"user_id":"\#(id)"}"# }

    private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    @Test(.regression("Two members whose ids Unicode considers equal were one."))
    func canonicallyEqualMembersComeAndGoAlone() throws {
        var stage = Stage()
        for id in ["1.1", "1.2", "1.3"] { try stage.connect(id) }
        try stage.subscribe("1.1", to: "presence-x", channelData: member("watcher"))
        #expect(try stage.subscribe("1.2", to: "presence-x", channelData: member(Self.composed)).count == 2)
        #expect(try stage.subscribe("1.3", to: "presence-x", channelData: member(Self.decomposed)).count == 3)
        let channel = try #require(stage.application.channels["presence-x"])
        #expect(bytes(channel.userIDs) == bytes(["watcher", Self.composed, Self.decomposed]))
        let told = try stage.unsubscribe("1.3", from: "presence-x")
        #expect(told.count == 2 && told.allSatisfy { $0.contains("member_removed") })
        #expect(
            bytes(stage.application.channels["presence-x"]?.userIDs ?? []) == bytes(["watcher", Self.composed]))
    }

    @Test func theReturnOfOneMemberDoesNotHideThatAnotherLeft() throws {
        var stage = Stage(.init(webhooks: .init()))
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        try stage.subscribe("1.1", to: "presence-x", channelData: member(Self.composed))
        _ = try stage.unsubscribe("1.1", from: "presence-x")
        let told = try stage.subscribe("1.2", to: "presence-x", channelData: member(Self.decomposed))
        #expect(told.contains { $0.hasPrefix("webhook") && $0.contains("member_added") })
    }

    @Test(.regression("Users whose ids Unicode considers equal were one."))
    func canonicallyEqualUsersSignInAndOutAlone() throws {
        var stage = Stage()
        for id in ["1.1", "1.2", "1.3"] { try stage.connect(id) }
        let frames = try stage.signIn(
            "1.1", #"{"id":"watcher","watchlist":["\#(Self.composed)","\#(Self.decomposed)"]}"#)
        #expect(frames.last?.utf8.count(where: { $0 == UInt8(ascii: "v") }) ?? 0 >= 2)
        #expect(try stage.signIn("1.2", #"{"id":"\#(Self.composed)"}"#).count == 2)
        #expect(try stage.signIn("1.3", #"{"id":"\#(Self.decomposed)"}"#).count == 2)
        #expect(stage.application.users.count == 3)
        #expect(stage.terminateConnections(of: Self.composed).count == 2)
        #expect(try stage.disconnect("1.2").count == 1)
        #expect(stage.application.users[Self.decomposed] != nil && stage.application.users[Self.composed] == nil)
    }

    @Test func aConnectionCannotSignInAgainAsACanonicallyEqualUser() throws {
        var stage = Stage()
        try stage.connect("1.1")
        try stage.signIn("1.1", #"{"id":"\#(Self.composed)"}"#)
        #expect(
            try stage.signIn("1.1", #"{"id":"\#(Self.decomposed)"}"#)
                == ["1.1 \(errorFrame("Connection is already signed in as another user"))"])
    }

    /// The Kelvin sign is canonically equal to a K, which a channel's name may contain.
    @Test(.regression("A user got the events of another one whose id Unicode considers equal."))
    func theChannelOfAUserIsForThatIDAlone() throws {
        var stage = Stage()
        for id in ["1.1", "1.2"] { try stage.connect(id) }
        try stage.signIn("1.1", #"{"id":"K"}"#)
        try stage.signIn("1.2", #"{"id":"\#u{212A}"}"#)
        let channel = "#server-to-user-K"
        #expect(try stage.subscribe("1.1", to: channel) == ["1.1 \(succeeded(channel))"])
        #expect(
            try stage.subscribe("1.2", to: channel)
                == ["1.2 \(errorFrame("Invalid channel name: \(channel) is for internal use"))"])
    }

    @Test func onlyTheNameOfASubscriptionEndsIt() throws {
        var stage = Stage()
        try stage.connect("1.1")
        try stage.subscribe("1.1", to: "K")
        #expect(try stage.unsubscribe("1.1", from: "\u{212A}").first?.contains("No current subscription") == true)
        #expect(stage.application.channels["K"]?.subscribers.count == 1)
        #expect(try stage.receive(#"{"event":"client-e","channel":"\#u{212A}","data":{}}"#, from: "1.1").count == 1)
    }
}
