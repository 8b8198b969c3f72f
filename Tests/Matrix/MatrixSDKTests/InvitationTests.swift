import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import Testing

/// Invitations from ignored users.
@Suite struct InvitationTests {
    private static func invitation(of user: String) -> String {
        #"""
        "rooms":{"invite":{"!r:s":{"invite_state":{"events":[
        {"type":"m.room.member","sender":"\#(user)","state_key":"@a:s","content":{"membership":"invite"}}]}}}}
        """#
    }

    private static func ignoring(_ users: String...) -> String {
        let members = users.map { #""\#($0)":{}"# }.joined(separator: ",")
        return #""account_data":{"events":[{"type":"m.ignored_user_list","content":{"ignored_users":{\#(members)}}}]}"#
    }

    private func isTold(_ script: ModelScript) -> Bool {
        script.notices.contains { if case .invited = $0 { true } else { false } }
    }

    @Test func anInvitationOfAnIgnoredUserIsHidden() throws {
        var script = try ModelScript()
        try script.apply(Self.ignoring("@evil:s"), Self.invitation(of: "@evil:s"))
        #expect(!isTold(script))
        #expect(script.room?.summary.hiddenFromUser != false)
        try script.apply(Self.invitation(of: "@good:s"))
        #expect(script.room?.summary.hiddenFromUser == false)
    }

    @Test func whoIsIgnoredLaterLosesTheInvitation_andWhoIsNotAnyMoreGetsItBack() throws {
        var script = try ModelScript()
        try script.apply(#""presence":{}"#, Self.invitation(of: "@evil:s"))
        #expect(isTold(script))
        #expect(script.room?.summary.hiddenFromUser == false)
        try script.apply(Self.ignoring("@evil:s"))
        #expect(script.room?.summary.hiddenFromUser == true)
        let reopened = SessionModel(
            userId: "@a:s", stored: try script.reopened(), now: .now)
        #expect(reopened.rooms["!r:s"]?.summary.hiddenFromUser == true)
        try script.apply(Self.ignoring())
        #expect(script.room?.summary.hiddenFromUser == false)
    }

    @Test func bothInOneAnswer() throws {
        var script = try ModelScript()
        try script.apply(Self.ignoring("@evil:s") + "," + Self.invitation(of: "@evil:s"))
        #expect(!isTold(script))
        #expect(script.room?.summary.hiddenFromUser == true)
    }

    @Test func aRoomThatAnIgnoredUserInvitedUsToIsShownOnceWeAreInIt() throws {
        var script = try ModelScript()
        try script.apply(
            Self.ignoring("@evil:s"), Self.invitation(of: "@evil:s"), Sync.room(state: Sync.members))
        #expect(script.room?.summary.hiddenFromUser == false)
    }
}

extension ModelScript {
    /// The content of the store after a restart.
    fileprivate func reopened() throws -> MXStoredSession {
        var session = MXStoredSession()
        session.summaries = model.rooms.values.map(\.summary)
        session.accountData = Array(model.accountData.values)
        return session
    }
}
