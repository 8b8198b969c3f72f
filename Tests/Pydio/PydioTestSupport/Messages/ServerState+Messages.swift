/// Notifying listeners: mailboxes, WebSockets and the changes feed.
extension ServerState {
    mutating func publish(_ events: [TreeEvent], _ call: Call) {
        for event in events {
            changes.record(event, in: call.treeKey, tree(call.treeKey))
            journal?.record(event, in: call.treeKey, tree(call.treeKey))
            activities.append(Activity(event, tree: call.treeKey, author: call.user.id, time: now))
            post(eventElement(event, call).xml, to: call.treeKey)
        }
    }

    /// A change of bookmarks is only reported to their user.
    mutating func publishBookmarks(_ call: Call) {
        post(XMLElement("reload_bookmarks").xml, to: call.treeKey, user: call.user.id)
    }

    mutating func post(_ xml: String, to tree: TreeKey, user: String? = nil) {
        messageCount += 1
        mailboxes.post(Message(number: messageCount, xml: xml, user: user), to: tree)
        for (id, peer) in peers where peer.tree == tree && (user == nil || user == peer.user) {
            outbox.append((id, "<tree>\(xml)</tree>"))
        }
    }

    /// Sends a message to all listeners of all workspaces.
    mutating func postToAll(_ xml: String) {
        for tree in Set(mailboxes.keys.map(\.tree) + peers.values.compactMap(\.tree)) { post(xml, to: tree) }
    }

    /// Unlike in the answer, a move is a single update, and so is a deletion into the recycle bin.
    private func eventElement(_ event: TreeEvent, _ call: Call) -> XMLElement {
        switch event {
        case .created(let path): return diffElement(NodesDiff(added: [path]), call)
        case .updated(let path): return diffElement(NodesDiff(updated: [(path, path)]), call)
        case .moved(let from, let to): return diffElement(NodesDiff(updated: [(to, from)]), call)
        case .deleted(let path, _):
            var attributes = [("filename", path.text)]
            if mode == .v8 { attributes.append(("ajxp_im_time", String(now))) }
            return XMLElement("nodes_diff", [], [XMLElement("remove", [], [XMLElement("tree", attributes)])])
        }
    }

    // MARK: Polling

    mutating func channelAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer {
        guard configuration.hasPolling, let channel = call["channel"], channel.hasPrefix("nodes:"),
            let workspace = workspaces(of: call.user).first(where: { $0.id == channel.dropFirst(6) }),
            call.user.rights(in: workspace.id)?.contains(.read) == true
        else { return .empty }
        let key = Mailboxes.Key(
            tree: TreeKey(workspace: workspace, user: call.user.id), user: call.user.id, client: call["client_id"] ?? ""
        )
        switch action {
        case .registerChannel: mailboxes.register(key, hasBacklog: mode == .v5_2, now: call.now)
        case .unregisterChannel: mailboxes.unregister(key)
        case _: return consume(key, workspace, call)
        }
        return .empty
    }

    private mutating func consume(
        _ key: Mailboxes.Key, _ workspace: FakePydioWorkspace, _ call: Call
    ) -> FakePydioAnswer {
        if mode == .v8, call.workspace.id != workspace.id {
            return .tree(XMLElement("require_registry_reload", [("repositoryId", call.workspace.id)]))
        }
        mailboxes.register(key, hasBacklog: mode == .v5_2, now: call.now)
        let expiry = Int(configuration.mailboxExpiry.components.seconds)
        let messages = mailboxes.consume(key, expiry: expiry, now: call.now)
        if messages.isEmpty, mode == .v5_2 { return .empty }
        return .tree(messages.map(\.xml).joined())
    }
}
