/// Actions for users who are logged in.
extension ServerState {
    /// - Parameter action: `nil` for one that the server does not know: the answer is empty.
    mutating func answer(_ action: Action?, to call: Call) -> FakePydioAnswer {
        guard let action, action.plugin.map({ configuration.plugins.contains($0) }) ?? true else { return .empty }
        if call.workspace.id == FakePydioWorkspace.console.id, let answer = consoleAnswer(action, call) {
            return answer
        }
        var call = call
        // Older servers cut the path of every folder at the page mark, newer ones only in listings.
        if mode == .v5_2, action != .list, let dir = call["dir"], let mark = dir.firstRange(of: "%23") {
            call.parameters.append("dir", String(dir[..<mark.lowerBound]))
        }
        if let right = action.right, !call.rights.contains(right) {
            let what = right == .write ? "write" : "read"
            return .refusal("You have no \(what) permission on this folder")
        }
        return switch action {
        case .getSeed, .getCaptcha, .login, .logout, .getSecureToken, .getBootConf: .empty  // session API only
        case .edit, .updateUserRight: .empty  // administrators' page only
        case .webSocketAuthenticate: .tree("")
        case .getRegistry, .state: registryAnswer(call)
        case .switchRepository: switchAnswer(call)
        case .saveUserPreference: .text("SUCCESS")
        case .passChange: passwordAnswer(call)
        case .list: listAnswer(call)
        case .makeFolder, .makeFile, .rename, .copy, .move, .delete, .restore, .emptyRecycle, .purge, .changeMode,
            .compress, .moveInIndex, .crossCopy:
            changeAnswer(action, call)
        case .stat, .statHash, .getContent, .putContent, .applyCheckHook: contentAnswer(action, call)
        case .upload: uploadAnswer(call)
        case .download, .prepareChunkDownload, .downloadChunk: downloadAnswer(action, call)
        case .getBookmarks, .share, .loadSharedElement, .unshare: extraAnswer(action, call)
        case .search, .editMetadata, .loadComments, .postComment, .deleteComment, .lock, .quota, .toggleWatch,
            .loadFeed:
            pluginAnswer(action, call)
        case .registerChannel, .consumeChannel, .unregisterChannel: channelAnswer(action, call)
        case .changes: changesAnswer(call)
        case .makeKeyPair, .listKeyPairs, .revokeKeyPairs: keystoreAnswer(action, call)
        }
    }

    private mutating func switchAnswer(_ call: Call) -> FakePydioAnswer {
        if let id = call["repository_id"], let session = call.session,
            workspaces(of: call.user).contains(where: { $0.id == id })
        {
            sessions[session]?.workspace = id
        }
        return .tree("")
    }
}
