/// The queries that a program sends to a terminal at the start, and the meaning of the replies.
///
/// A value without timers: for a terminal that does not reply, the caller gives up after a while. Every terminal
/// answers the last query (`CSI c`), which marks the end.
public struct TerminalQueries: Hashable, Sendable {
    /// In order. The cursor position is requested after each, on a line that will be painted over.
    private static let clusters = ["❤\u{FE0F}", "👍🏽", "👨\u{200D}👩\u{200D}👧"]
    private static let imageID = 31
    static var cursorReports: Int { clusters.count }

    /// Returns the text of the queries, which takes up space at the top of the screen.
    ///
    /// - Parameter asksForGraphics: Pass false for terminals that contain others, such as tmux and screen: they
    ///   misinterpret the query, and may or may not pass images on.
    public static func text(asksForGraphics: Bool) -> String {
        clusters.map { "\u{1B}[1;1H\($0)\u{1B}[6n" }.joined() + "\u{1B}[1;1H\u{1B}[2K\u{1B}]11;?\u{1B}\\\u{1B}[?2026$p"
            + "\u{1B}[?u"
            + (asksForGraphics
                ? "\u{1B}[16t\u{1B}_Gi=\(imageID),s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\" : "") + "\u{1B}[c"
    }

    /// Returns whether a terminal in this environment can be queried for graphics.
    public static func canAskForGraphics(_ environment: (String) -> String?) -> Bool {
        let term = environment("TERM") ?? ""
        let isInside = environment("TMUX") != nil || environment("STY") != nil
        return !isInside && !["tmux", "screen", "linux", "dumb"].contains { term.hasPrefix($0) } && !term.isEmpty
    }

    private var widths: [Int] = []
    /// Whether the last query has been answered.
    public private(set) var isComplete = false
    /// Whether the terminal supports synchronized frames (mode 2026).
    public private(set) var synchronizes = false
    /// Whether it supports kitty's keyboard protocol.
    public private(set) var reportsKeys = false
    /// The best way to show images on it. Replies after the last query don't affect it.
    public private(set) var graphics = GraphicsProtocol.halfBlocks
    private var cell: PixelSize?
    private static let cellSides = 4...100
    /// Whether the background is light; nil if the terminal did not answer.
    public private(set) var hasLightBackground: Bool?

    /// Creates a value without answers.
    public init() {}

    /// Processes a reply.
    public mutating func received(_ reply: TerminalReply) {
        switch reply {
        case .cursorPosition(let column, _): widths.append(column)
        case .background(let red, let green, let blue):
            hasLightBackground = 299 * Int(red) + 587 * Int(green) + 114 * Int(blue) > 127_500
        case .mode(2026, let isKnown): synchronizes = isKnown
        case .cellSize(let width, let height):
            guard Self.cellSides.contains(width), Self.cellSides.contains(height) else { break }
            cell = PixelSize(width: width, height: height)
        case .mode: break
        case .keyboardFlags: reportsKeys = true
        case .graphics(Self.imageID, true) where !isComplete: graphics = .kitty
        case .graphics: break
        case .attributes(let attributes):
            // Sixels are measured in pixels: without the size of a cell they would cover other cells.
            if !isComplete, graphics == .halfBlocks, attributes.dropFirst().contains(4), let cell {
                graphics = .sixel(cell: cell)
            }
            isComplete = true
        }
    }

    /// The measured widths, or those of Unicode if the terminal did not answer.
    public var profile: WidthProfile {
        var profile = WidthProfile.unicode
        guard widths.count == Self.clusters.count else { return profile }
        profile.widensPictures = widths[0] == 2
        profile.joinsSkinTones = widths[1] == 2
        profile.joinsSequences = widths[2] == 2
        return profile
    }
}
