/// The shell's commands by name.
enum ShellVerb: String, CaseIterable, Sendable {
    case subscribe
    case unsubscribe
    case trigger
    case members
    case channels
    case status
    case signIn = "sign-in"
    case connect
    case disconnect
    case help
    case quit

    var usage: String { arguments.isEmpty ? rawValue : "\(rawValue) \(arguments)" }

    private var arguments: String {
        switch self {
        case .subscribe, .unsubscribe: "CHANNEL..."
        case .trigger: "CHANNEL EVENT DATA"
        case .members: "CHANNEL [USER]"
        case .help: "[COMMAND]"
        case .channels, .status, .signIn, .connect, .disconnect, .quit: ""
        }
    }

    /// The allowed number of arguments.
    var argumentCount: ClosedRange<Int> {
        switch self {
        case .subscribe, .unsubscribe: 1...Int.max
        case .trigger: 3...3
        case .members: 1...2
        case .help: 0...1
        case .channels, .status, .signIn, .connect, .disconnect, .quit: 0...0
        }
    }

    var summary: String {
        switch self {
        case .subscribe: "Subscribe to channels and print their events."
        case .unsubscribe: "Unsubscribe from channels."
        case .trigger: "Send an event."
        case .members: "List the members of a presence channel."
        case .channels: "List the channels and their subscription states."
        case .status: "Show the connection, and ping the server."
        case .signIn: "Sign in as the user that the options name."
        case .connect: "Connect, or try again now."
        case .disconnect: "Disconnect, and keep the list of channels."
        case .help: "Explain the commands."
        case .quit: "Leave; exit and Ctrl-D do the same."
        }
    }

    /// Details beyond the summary, if any.
    var detail: [String] {
        switch self {
        case .subscribe:
            [
                "Names that start with private- or presence- need the secret or",
                "--auth-endpoint. A refused channel is tried again.",
            ]
        case .trigger:
            [
                "An event whose name starts with client- goes to the other subscribers of a",
                "private or presence channel that is subscribed; its data is sent as JSON if it",
                "is JSON, otherwise as a string. Every other event is published through the",
                "HTTP API, which needs the application's id and secret; its data is sent as is.",
                "A JSON object or array needs no quotes: the rest of the line is taken as it",
                "stands. Quote other data with spaces or quotes in it as in a shell.",
                #"  trigger prices update {"value": 1}"#,
                "  trigger prices update 'two words'",
            ]
        case .members: ["With USER, lists only that user. The channel must be subscribed."]
        case .signIn: ["The user is that of --user-id or --user-auth-endpoint."]
        case .disconnect: ["The next connect subscribes to the same channels."]
        case .unsubscribe, .channels, .status, .connect, .help, .quit: []
        }
    }
}
