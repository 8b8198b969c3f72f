import Basics
import Foundation
import PydioProtocol
import Realtime
import TestSupport
import Testing
import Transport

@Suite struct WorkspaceMachineTests {
    private var machine: WorkspaceMachine

    init() {
        machine = WorkspaceMachine(loop: .init(), model: .init(workspaceId: "0"), seed: 1, now: .start)
    }

    /// Orders and notices since the last call, as lines.
    private mutating func lines() -> [String] {
        machine.takeActions().map(Self.line)
    }

    private static func line(_ action: WorkspaceMachine.Action) -> String {
        switch action {
        case .perform(let request): "\(request.number) \(request.step)"
        case .cancelStep: "cancel"
        case .unregister: "unregister"
        case .openSocket(let id, _): "open socket \(id.number)"
        case .pingSocket: "ping socket"
        case .dropSocket: "drop socket"
        case .pauseSocket(let isPaused): isPaused ? "pause socket" : "resume socket"
        case .tell(let events):
            events.map { "\($0.name.replacing(/pydio:(node_)?/, with: "")) \($0.path ?? "-")" }.joined(separator: ", ")
        case .gap(let start, let end): "gap \((end - start) / .seconds(1))"
        case .sequence(let sequence): "sequence \(sequence)"
        case .changed(let state): "\(state)"
        case .failed(let problem, let delay): "failed \(problem)\(delay == nil ? ", for good" : "")"
        case .socketFailed: "socket failed"
        case .held: "held"
        case .resumed: "resumed"
        }
    }

    private static func index(_ files: [String]) -> NodeIndex {
        NodeIndex(
            Dictionary(
                uniqueKeysWithValues: files.map { (NodePath($0), NodeIndex.Entry(isLeaf: true, size: 1, mTime: 1)) }))
    }

    /// Connects and brings the machine up to date, with `files` in the workspace.
    private mutating func connect(_ files: [String] = ["/a"]) {
        machine.start(now: .start)
        machine.answered(1, .services(WorkspaceServices()), now: .start)
        machine.answered(2, .registered, now: .start)
        machine.answered(3, .messages([], generation: 1), now: .start)
        machine.answered(4, .listing(Self.index(files)), now: .start)
        _ = lines()
    }

    @Test mutating func aRequestThatWasGivenUpEndsBeforeTheNextBegins() {
        machine.start(now: .start)
        #expect(lines() == ["connecting", "1 discover"])
        machine.pause(now: .at(1))
        #expect(lines() == ["cancel", "disconnected"])
        machine.start(now: .at(2))
        #expect(lines() == ["connecting"])
        machine.failed(1, .unreachable, now: .at(3))
        #expect(lines() == ["2 discover"])
    }

    @Test mutating func aRequestThatIsGivenUpBeforeItsTurnIsNeverMade() {
        machine.start(now: .start)
        machine.pause(now: .at(1))
        machine.start(now: .at(2))
        machine.pause(now: .at(2))
        #expect(lines() == ["connecting", "1 discover", "cancel", "disconnected", "connecting", "disconnected"])
        machine.failed(1, .unreachable, now: .at(3))
        #expect(lines() == [])
    }

    @Test mutating func theMailboxIsClosedBehindTheRequestThatMayOpenItAgain() {
        connect()
        machine.check(now: .at(1))
        #expect(lines() == ["5 consume(PydioProtocol.WorkspaceModel.Purpose.everything)"])
        machine.close(now: .at(2))
        #expect(lines() == ["disconnecting", "disconnected"])
        machine.answered(5, .messages([], generation: 1), now: .at(3))
        #expect(lines() == ["unregister"])
    }

    @Test mutating func aMailboxThatNothingIsAskedOfIsClosedAtOnce() {
        connect()
        machine.close(now: .at(2))
        #expect(lines() == ["disconnecting", "disconnected", "unregister"])
    }

    /// Closing it would be another rejected login.
    @Test mutating func aMailboxIsNotClosedByWhoIsNotLetIn() {
        connect()
        machine.check(now: .at(1))
        _ = lines()
        machine.close(now: .at(2))
        #expect(lines() == ["disconnecting", "disconnected"])
        machine.failed(5, .unauthenticated, now: .at(3))
        #expect(lines() == [])
    }

    @Test mutating func anotherSessionMayHaveAnotherMailbox_soTheWorkspaceIsListed() {
        connect()
        machine.check(now: .at(1))
        _ = lines()
        machine.answered(5, .messages([], generation: 2), now: .at(1))
        #expect(lines() == ["6 register"])
        machine.answered(6, .registered, now: .at(1))
        machine.answered(7, .messages([], generation: 2), now: .at(1))
        machine.answered(8, .listing(Self.index(["/a", "/b"])), now: .at(1))
        _ = lines()
        machine.answered(9, .messages([], generation: 2), now: .at(2))
        #expect(lines().prefix(2) == ["gap 2.0", "created /b"])
    }

    private static let webSocket = WorkspaceServices.WebSocket(url: "wss://s:8090/ws", host: "s", isSecure: true)
    private let socket = ConnectionMachine.TransportID(number: 1)

    /// Runs until the WebSocket has proved itself, and the mailbox is read for the last time.
    private mutating func openSocket() {
        machine.start(now: .start)
        machine.answered(1, .services(WorkspaceServices(webSocket: Self.webSocket)), now: .start)
        machine.answered(2, .registered, now: .start)
        machine.answered(3, .messages([], generation: 1), now: .start)
        machine.answered(4, .listing(Self.index(["/a"])), now: .start)
        machine.socketAnswered(socket, now: .start)
        _ = lines()
    }

    private mutating func receive(_ text: String, from id: ConnectionMachine.TransportID? = nil) {
        machine.socketReceived(WebSocketMessages([.text(Array(text.utf8)[...])]), from: id ?? socket, now: .at(1))
    }

    private static let bookmarks = "<tree><reload_bookmarks/></tree>"

    @Test mutating func whatWasPolledIsNoNewsUntilAPingThatWasSentAfterItIsAnswered() throws {
        openSocket()
        let document = try XMLReader.read(Array(Self.bookmarks.utf8))
        machine.answered(5, .messages(try #require(ChannelMessage.list(in: document)), generation: 1), now: .at(1))
        #expect(lines() == ["bookmarks_changed -", "ping socket"])
        receive(Self.bookmarks)
        #expect(lines() == [])
        machine.socketAnswered(socket, now: .at(1))
        receive(Self.bookmarks)
        #expect(lines() == ["bookmarks_changed -"])
    }

    @Test mutating func aPartOfADocumentIsNoAnswerToAPing() {
        openSocket()
        machine.answered(5, .messages([], generation: 1), now: .at(1))
        _ = lines()
        for part in ["<tree", ">", "<reload_bookmarks", "/>", "</tree>"] {
            receive(part)
            machine.socketHeard(socket, now: .at(1))
        }
        #expect(lines() == ["bookmarks_changed -"])
    }

    private static func messages(_ changes: String) throws -> WorkspaceMachine.Answer {
        let document = try XMLReader.read(Array("<tree><nodes_diff>\(changes)</nodes_diff></tree>".utf8))
        return .messages(try #require(ChannelMessage.list(in: document)), generation: 1)
    }

    private static func added(_ path: String) -> String {
        #"<add><tree is_file="true" filename="\#(path)" bytesize="1" ajxp_modiftime="1"/></add>"#
    }

    private static func removed(_ path: String) -> String {
        #"<remove><tree filename="\#(path)"/></remove>"#
    }

    /// A listing does not show a node that was created and deleted before it; other messages are not part of it.
    @Test mutating func whatChangedBeforeAListingIsNotToldAfterIt() {
        openSocket()
        receive("<tree><nodes_diff>\(Self.added("/b"))</nodes_diff></tree>")
        receive("<tree><nodes_diff>\(Self.removed("/b"))</nodes_diff></tree>")
        receive(Self.bookmarks)
        machine.answered(5, .messages([], generation: 2), now: .at(1))  // of another session
        machine.answered(6, .registered, now: .at(1))
        machine.answered(7, .messages([], generation: 2), now: .at(1))
        machine.answered(8, .listing(Self.index(["/a"])), now: .at(1))
        machine.answered(9, .messages([], generation: 2), now: .at(1))
        #expect(lines().last == "10 consumeLast")
        machine.answered(10, .messages([], generation: 2), now: .at(1))
        #expect(lines() == ["ping socket", "bookmarks_changed -"])
    }

    @Test mutating func whatASocketLeftUnfinishedIsForgottenWithIt() {
        openSocket()
        machine.answered(5, .messages([], generation: 1), now: .at(1))
        receive("<tree>")
        machine.socketEnded(socket, now: .at(1))
        machine.answered(6, .registered, now: .at(1))
        machine.answered(7, .messages([], generation: 1), now: .at(1))
        machine.answered(8, .listing(Self.index(["/a"])), now: .at(1))
        machine.answered(9, .messages([], generation: 1), now: .at(1))
        machine.timePassed(now: .at(12))
        #expect(lines().last == "open socket 2")
        let second = ConnectionMachine.TransportID(number: 2)
        machine.socketAnswered(second, now: .at(12))
        machine.answered(10, .messages([], generation: 1), now: .at(12))
        #expect(lines() == ["10 consumeLast", "ping socket"])
        receive(Self.bookmarks, from: second)
        #expect(lines() == ["bookmarks_changed -"])
    }

    @Test mutating func aReaderWhoIsSlowForLongIsTold_andSoIsTheEndOfIt() {
        connect()
        let reader = EventReader(.sequence, eventName: nil, channelName: nil)
        machine.hold(for: reader, now: .at(1))
        machine.timePassed(now: .at(121))
        #expect(lines() == ["held"])
        machine.release(for: reader, now: .at(130))
        #expect(lines().first == "resumed")
    }

    /// A poll gets no answer: messages in the mailbox may be lost.
    private mutating func loseAnAnswer() {
        connect()
        machine.check(now: .at(1))
        machine.failed(5, .unreachable, now: .at(1))
        machine.start(now: .at(1))
        machine.answered(6, .services(WorkspaceServices()), now: .at(1))
        machine.answered(7, .registered, now: .at(1))
        _ = lines()
    }

    @Test mutating func whereAnAnswerWasLostAnyDifferenceIsAGap() throws {
        loseAnAnswer()
        machine.answered(8, try Self.messages(Self.added("/b")), now: .at(2))
        #expect(
            lines() == [
                "9 list(PydioProtocol.WorkspaceLoop.Listing.compare(PydioProtocol.WorkspaceLoop.Loss.suspected))"
            ])
        machine.answered(9, .listing(Self.index(["/a", "/b"])), now: .at(2))
        _ = lines()
        machine.answered(10, .messages([], generation: 1), now: .at(2))
        #expect(lines().prefix(2) == ["gap 2.0", "created /b"])
    }

    @Test mutating func whereAnAnswerWasLostAndNothingIsDifferentThereIsNoGap() throws {
        loseAnAnswer()
        machine.answered(8, .messages([], generation: 1), now: .at(2))
        machine.answered(9, .listing(Self.index(["/a"])), now: .at(2))
        _ = lines()
        machine.answered(10, try Self.messages(Self.added("/b")), now: .at(2))
        #expect(lines().prefix(1) == ["created /b"])
    }

    @Test mutating func whatLaterMessagesCoverUpIsAGapToo() throws {
        loseAnAnswer()
        machine.answered(8, .messages([], generation: 1), now: .at(2))
        machine.answered(9, .listing(Self.index(["/a", "/b"])), now: .at(2))
        _ = lines()
        machine.answered(10, try Self.messages(Self.removed("/b")), now: .at(2))
        #expect(lines().prefix(1) == ["gap 2.0"])
    }

    @Test mutating func whatWaitsForAnotherRequestDoesNotBeginWhileItIsHeld() {
        machine.start(now: .start)
        machine.pause(now: .at(1))
        machine.start(now: .at(2))
        _ = lines()
        machine.hold(true, now: .at(3))
        machine.failed(1, .unreachable, now: .at(4))
        #expect(lines() == [])
        machine.hold(false, now: .at(5))
        #expect(lines() == ["2 discover"])
    }

    /// Answers all requests; `nil` fails for lack of a log.
    ///
    /// - Returns: All other orders and notices.
    private mutating func answerAll(
        now: MonotonicInstant, _ answer: (WorkspaceLoop.Step) -> WorkspaceMachine.Answer?
    ) -> [String] {
        var told: [String] = []
        while true {
            let actions = machine.takeActions()
            if actions.isEmpty { return told }
            for action in actions {
                guard case .perform(let request) = action else {
                    told.append(Self.line(action))
                    continue
                }
                if let answer = answer(request.step) {
                    machine.answered(request.number, answer, now: now)
                } else {
                    machine.failed(request.number, .withoutFeed, now: now)
                }
            }
        }
    }

    private static func answer(
        _ step: WorkspaceLoop.Step, files: [String], sequence: Int64?
    ) -> WorkspaceMachine.Answer? {
        switch step {
        case .discover: .services(WorkspaceServices(hasFeed: true))
        case .register: .registered
        case .consume, .consumeLast: .messages([], generation: 1)
        case .list: .listing(index(files))
        case .readChanges:
            sequence.map { sequence in
                .changes(
                    PydioChangesResponse(
                        changes: files.map { path in
                            PydioLoggedChange(
                                sequence: sequence, nodeId: nil, kind: .create, source: nil, target: path,
                                node: .init(
                                    size: 1, md5: nil, mTime: Date(timeIntervalSince1970: 1), path: path,
                                    isFolder: false))
                        }, lastSequence: sequence))
            }
        }
    }

    @Test mutating func aLogThatIsThereOnlyLaterIsComparedWithWhatIsKnown() {
        machine.start(now: .start)
        #expect(
            answerAll(now: .start) { Self.answer($0, files: ["/a"], sequence: nil) } == ["connecting", "connected"])
        machine.pause(now: .at(1))
        machine.start(now: .at(2))
        #expect(
            answerAll(now: .at(2)) { Self.answer($0, files: ["/a", "/b"], sequence: 7) } == [
                "disconnecting", "disconnected", "connecting", "sequence 7", "gap 2.0", "created /b", "connected",
            ])
    }
}
