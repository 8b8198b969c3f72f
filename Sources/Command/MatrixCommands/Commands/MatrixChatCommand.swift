import ArgumentParser
import CommandKit
import MatrixKitTerminal
import MatrixSDK

struct MatrixChatCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "Chat in your rooms, in the whole terminal.",
        discussion: """
            Shows your rooms, one of them, and its members. F1, or ? in an empty line, shows the keys and commands. What is \
            stored is shown at once; the homeserver's news follow. Ctrl-C twice leaves.

            All accounts are shown that are logged in: pusher-cli matrix login --add adds one, --user chooses one. Keys, \
            colours and what is shown can be set in $XDG_CONFIG_HOME/matrixkit/chat.conf, a line for each: \
            theme = dark, key next-unread = alt-n f3. F1 shows the names of keys.

            Images are shown with their pixels where the terminal knows kitty's graphics protocol or sixels, and in half \
            blocks elsewhere, tmux and screen included. /toggle graphics turns the pixels off, --no-images all of them.

            /open opens the file of a message with $MATRIX_OPENER or xdg-open, and /links a link with $BROWSER or xdg-open, \
            after you have said so. Links to rooms and messages are shown in the chat.

            --plain draws nothing: it prints the messages of ROOM line by line and sends each line that you enter, for \
            screen readers and pipes. It is used by itself where there is no terminal.

            Examples:
              pusher-cli matrix chat
              pusher-cli matrix chat '#lobby:example.org'
              pusher-cli matrix chat --plain Builds
            """)

    @Argument(
        help: ArgumentHelp(
            "The room that is shown first. Default: the one with the newest message.", valueName: "room"),
        completion: RoomReference.completion)
    var room: String?

    @Option(help: ArgumentHelp("Show this account alone. Default: all, and with --plain the first.", valueName: "user"))
    var user: String?

    @Option(help: "The colours: dark, light or plain. Default: what fits the terminal.")
    var theme: ChatTheme?

    @Flag(help: "Draw nothing: print messages and send lines.")
    var plain = false

    @Flag(help: "Report the mouse, which takes the terminal's own selection away.")
    var mouse = false

    @Flag(help: "Show the names of images alone, and download none.")
    var noImages = false

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        let room = room.map(RoomReference.init)
        guard await ScreenProgram.isPossible, !plain else {
            return try await LineChat(MatrixChat.open(network.matrixAccount(of: user))).run(room)
        }
        let screen = try await ChatScreen(accounts, theme: theme?.theme, reportsMouse: mouse, showsImages: !noImages)
        try await screen.run(room)
    }

    /// All logged-in accounts, or the requested one.
    private var accounts: [MatrixAccount] {
        get throws(CommandFailure) {
            let files = MatrixCredentialFile.all
            guard user == nil, files.count > 1 else { return [try network.matrixAccount(of: user)] }
            let rest = try MXRestClientOptions(network)
            var accounts: [MatrixAccount] = []
            for file in files { accounts.append(try MatrixAccount(rest, in: file)) }
            return accounts
        }
    }
}

/// The values of `--theme`.
enum ChatTheme: String, CaseIterable, ExpressibleByArgument {
    case dark, light, plain

    var theme: MXKTheme {
        switch self {
        case .dark: .dark
        case .light: .light
        case .plain: .plain
        }
    }
}
