import Basics
import NIOCore

/// Listeners and their messages.
extension FakePydioServer {
    /// Runs an action as a user, as if requested with these parameters; all listeners are notified.
    ///
    /// - Returns: The answer's body.
    @discardableResult
    package func act(
        _ action: String, _ parameters: KeyValuePairs<String, String>, in workspace: String = "0",
        as user: String = "bob"
    ) -> String {
        let answer: FakePydioAnswer? = core.state.withLock { state in
            guard let user = state.user(user), let workspace = state.workspace(workspace) else { return nil }
            var form = FormParameters()
            for (name, value) in parameters { form.append(name, value) }
            let request = FakePydioRequest(
                method: "POST", rawPath: "/", query: FormParameters(), form: form, fields: [], cookies: [:],
                upload: nil,
                bodySize: 0, address: "")
            let call = Call(
                request: request, parameters: form, user: user, workspace: workspace, session: nil, now: state.now)
            return state.answer(Action(rawValue: action), to: call)
        }
        core.deliver()
        guard case .bytes(let bytes) = answer?.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends a message, one XML element, to all listeners of a workspace.
    package func post(_ xml: String, in workspace: String = "0", user: String = "ada") {
        core.state.withLock { state in
            guard let workspace = state.workspace(workspace) else { return }
            state.post(xml, to: TreeKey(workspace: workspace, user: user))
        }
        core.deliver()
    }

    /// Sends a message, one XML element, to all listeners of all workspaces.
    package func postToAll(_ xml: String) {
        core.state.withLock { $0.postToAll(xml) }
        core.deliver()
    }

    /// Restarts the changes feed, as after a new installation.
    package func resetChanges() { core.state.withLock { $0.changes.reset() } }

    /// The highest number of the changes feed.
    package var lastChange: Int { core.state.withLock { $0.changes.last } }

    /// Polling clients, by the IDs that they have chosen.
    package var pollers: [String] { core.state.withLock { $0.mailboxes.keys.map(\.client).sorted() } }

    /// The workspace that each open WebSocket has registered for.
    package var webSockets: [String?] {
        core.state.withLock { state in state.peers.sorted { $0.key < $1.key }.map { $0.value.tree?.workspace } }
    }

    /// All texts received on WebSockets.
    package var webSocketTexts: [String] { core.state.withLock { $0.webSocketTexts } }

    /// The number of answered pings on WebSockets.
    package var pongCount: Int { core.state.withLock { $0.pongCount } }

    /// Closes all WebSockets without notice.
    package func dropWebSockets() {
        for channel in core.sockets.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}
