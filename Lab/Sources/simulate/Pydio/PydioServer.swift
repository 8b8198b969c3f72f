import Basics
import Foundation
import PydioProtocol
import Transport

/// The server's state for one workspace and one client. Each change has a number, which is the size of the resulting
/// file.
struct PydioServer {
    struct Change {
        var kind: PydioLoggedChange.Kind
        var path: String
        var source: String?
        var xml: String
        var message: ChannelMessage
    }

    private struct Mailbox {
        var messages: [ChannelMessage]
        var lastUsed: MonotonicInstant
    }

    /// The time after which an unread mailbox is discarded.
    static let mailboxLife = Duration.seconds(600)

    private(set) var files: [String: Int] = ["/f0": -1, "/f1": -1]
    /// The contents after each change, from 0.
    private(set) var history: [[String: Int]] = [["/f0": -1, "/f1": -1]]
    private(set) var changes: [Change] = []
    private(set) var generation = 1
    private var mailbox: Mailbox?
    /// The number of the last change that is no longer in a log.
    private(set) var logStart = 0
    /// The number at which the log starts. A restarted log has lower numbers, so that it can be recognized.
    private var logBase = 1_000_000
    let newMailboxesHaveOldMessages: Bool

    init(newMailboxesHaveOldMessages: Bool) {
        self.newMailboxesHaveOldMessages = newMailboxesHaveOldMessages
    }

    var hasMailbox: Bool { mailbox != nil }

    // MARK: Other clients

    mutating func change(_ random: inout Random) -> Change? {
        let number = changes.count + 1
        let path = "/f\(random.below(6))"
        var change: (kind: PydioLoggedChange.Kind, path: String, source: String?)
        if files[path] == nil {
            change = (.create, path, nil)
        } else if random.chance(50) {
            change = (.content, path, nil)
        } else if random.chance(60) {
            change = (.delete, path, nil)
        } else {
            let target = "/f\(random.below(6))"
            guard files[target] == nil else { return nil }
            change = (.path, target, path)
        }
        let node =
            #"<tree is_file="true" filename="\#(change.path)" bytesize="\#(number)" ajxp_modiftime="\#(number)""#
        let part =
            switch change.kind {
            case .create: "<add>\(node)/></add>"
            case .content: "<update>\(node)/></update>"
            case .path: #"<update>\#(node) original_path="\#(change.source ?? "")"/></update>"#
            case .delete: #"<remove><tree filename="\#(change.path)"/></remove>"#
            }
        let xml = "<nodes_diff>\n\(part)\n</nodes_diff>"
        guard
            let message = (try? XMLReader.read(Array("<tree>\(xml)</tree>".utf8))).flatMap({
                ChannelMessage.list(in: $0)
            })?
            .first
        else { return nil }
        change.source.map { files[$0] = nil }
        files[change.path] = change.kind == .delete ? nil : number
        history.append(files)
        let new = Change(kind: change.kind, path: change.path, source: change.source, xml: xml, message: message)
        changes.append(new)
        mailbox?.messages.append(message)
        return new
    }

    mutating func loseSession() {
        generation += 1
        mailbox = nil
    }

    mutating func resetLog() {
        logStart = changes.count
        logBase -= 1_000
    }

    private func sequence(of number: Int) -> Int64 { Int64(logBase + number - logStart) }

    // MARK: Requests

    mutating func answer(
        _ request: WorkspaceMachine.Request, services: WorkspaceServices, now: MonotonicInstant
    ) -> WorkspaceMachine.Answer {
        switch request.step {
        case .discover: return .services(services)
        case .register:
            openMailbox(now: now)
            return .registered
        case .consume: return .messages(consume(now: now), generation: generation)
        case .consumeLast:
            defer { mailbox = nil }
            return .messages(consume(now: now), generation: generation)
        case .list:
            let entries = files.map { (NodePath($0.key), Self.entry($0.value)) }
            return .listing(NodeIndex(Dictionary(entries) { $1 }))
        case .readChanges(let isFlattened): return .changes(log(since: request.sequence, isFlattened: isFlattened))
        }
    }

    mutating func unregister() { mailbox = nil }

    private mutating func openMailbox(now: MonotonicInstant) {
        if let mailbox, now - mailbox.lastUsed >= Self.mailboxLife { self.mailbox = nil }
        mailbox?.lastUsed = now
        guard mailbox == nil else { return }
        let old = newMailboxesHaveOldMessages ? changes.suffix(3).map(\.message) : []
        mailbox = Mailbox(messages: old, lastUsed: now)
    }

    private mutating func consume(now: MonotonicInstant) -> [ChannelMessage] {
        openMailbox(now: now)
        defer { mailbox?.messages = [] }
        return mailbox?.messages ?? []
    }

    private static func entry(_ size: Int) -> NodeIndex.Entry {
        NodeIndex.Entry(isLeaf: true, size: Int64(size), mTime: Int64(size))
    }

    // MARK: The log

    private func log(since sequence: Int64?, isFlattened: Bool) -> PydioChangesResponse {
        let last = self.sequence(of: changes.count)
        guard let sequence else {
            let all = files.sorted { $0.key < $1.key }.map { logged(.create, $0.key, number: $0.value) }
            return PydioChangesResponse(changes: all, lastSequence: last)
        }
        guard sequence <= last else { return PydioChangesResponse(changes: [], lastSequence: last, isReset: true) }
        let first = logStart + Int(sequence) - logBase
        guard isFlattened else {
            let rows = (first..<changes.count).map { index in
                logged(changes[index].kind, changes[index].path, number: index + 1, source: changes[index].source)
            }
            return PydioChangesResponse(changes: rows, lastSequence: last)
        }
        let old = history[first]
        let gone = old.keys.filter { files[$0] == nil }.sorted().map { path in
            let index = changes.lastIndex { $0.path == path && $0.kind == .delete || $0.source == path } ?? 0
            return logged(.delete, path, number: index + 1)
        }
        let new = files.filter { old[$0.key] != $0.value }.sorted { $0.value < $1.value }.map { path, number in
            logged(old[path] == nil ? .create : .content, path, number: number)
        }
        let rows = (gone + new).sorted { $0.sequence < $1.sequence }
        return PydioChangesResponse(changes: rows, lastSequence: last)
    }

    private func logged(
        _ kind: PydioLoggedChange.Kind, _ path: String, number: Int, source: String? = nil
    ) -> PydioLoggedChange {
        let time = Date(timeIntervalSince1970: Double(number))
        let node = PydioLoggedChange.Node(size: Int64(number), md5: nil, mTime: time, path: path, isFolder: false)
        return PydioLoggedChange(
            sequence: sequence(of: number), nodeId: nil, kind: kind, source: kind == .create ? nil : source ?? path,
            target: kind == .delete ? nil : path, node: kind == .delete ? nil : node)
    }
}
