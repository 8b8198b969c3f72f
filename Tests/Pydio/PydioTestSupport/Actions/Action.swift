/// Actions that the servers know. Others, including `ping`, get an empty answer.
enum Action: String, CaseIterable {
    case getSeed = "get_seed"
    case getCaptcha = "get_captcha"
    case login
    case logout
    case getSecureToken = "get_secure_token"
    case getBootConf = "get_boot_conf"
    case webSocketAuthenticate = "ws_authenticate"
    case getRegistry = "get_xml_registry"
    case state
    case switchRepository = "switch_repository"
    case saveUserPreference = "save_user_pref"
    case passChange = "pass_change"

    case list = "ls"
    case makeFolder = "mkdir"
    case makeFile = "mkfile"
    case rename
    case copy
    case move
    case delete
    case restore
    case emptyRecycle = "empty_recycle"
    case purge
    case changeMode = "chmod"
    case stat
    case statHash = "stat_hash"
    case getContent = "get_content"
    case putContent = "put_content"
    case upload
    case download
    case prepareChunkDownload = "prepare_chunk_dl"
    case downloadChunk = "download_chunk"
    case compress
    case crossCopy = "cross_copy"
    case moveInIndex = "lsync"
    case applyCheckHook = "apply_check_hook"

    case edit
    case updateUserRight = "user_update_right"

    case getBookmarks = "get_bookmarks"
    case share
    case loadSharedElement = "load_shared_element_data"
    case unshare

    case search
    case editMetadata = "edit_user_meta"
    case loadComments = "load_comments_feed"
    case postComment = "post_comment"
    case deleteComment = "delete_comment"
    case lock = "sl_lock"
    case quota = "monitor_quota"
    case toggleWatch = "toggle_watch"
    case loadFeed = "get_my_feed"

    case registerChannel = "client_register_channel"
    case consumeChannel = "client_consume_channel"
    case unregisterChannel = "client_unregister_channel"
    case changes

    case makeKeyPair = "keystore_generate_auth_token"
    case listKeyPairs = "keystore_list_tokens"
    case revokeKeyPairs = "keystore_revoke_tokens"

    /// Whether the action needs no secure token of the session.
    func needsNoToken(_ mode: FakePydioMode) -> Bool {
        switch self {
        case .getSecureToken, .getBootConf, .webSocketAuthenticate: true
        case .makeKeyPair: mode == .v8
        case _: false
        }
    }

    static let otherNamesWithoutToken: Set<String> = [
        "get_boot_gui", "get_binary_param", "get_global_binary_param", "open_file",
    ]

    /// Whether the action needs no login.
    var isForAnybody: Bool {
        switch self {
        case .getSeed, .getCaptcha, .login, .logout, .getSecureToken, .getBootConf, .getRegistry: true
        case _: false
        }
    }

    /// The right in the workspace that the action needs.
    var right: FakePydioUser.Rights? {
        switch self {
        case .stat, .statHash, .getContent, .download, .prepareChunkDownload, .downloadChunk, .changes, .getBookmarks,
            .loadSharedElement, .search, .loadComments, .postComment, .deleteComment, .toggleWatch, .loadFeed,
            .crossCopy:
            .read
        case .makeFolder, .makeFile, .rename, .copy, .move, .delete, .restore, .emptyRecycle, .purge, .changeMode,
            .compress, .share, .unshare, .moveInIndex, .editMetadata, .lock:
            .write
        case _: nil
        }
    }

    /// The plugin that provides the action; `nil` if every server has it.
    var plugin: FakePydioPlugin? {
        switch self {
        case .search: .search
        case .statHash: .hashes
        case .crossCopy: .crossCopy
        case .compress: .archives
        case .changeMode: .permissions
        case .purge: .purge
        case .editMetadata: .metadata
        case .loadComments, .postComment, .deleteComment: .comments
        case .lock: .locks
        case .quota: .quota
        case .toggleWatch: .watches
        case .loadFeed: .feed
        case _: nil
        }
    }
}
