/// What a program asks a terminal about itself when it starts, and what the answers mean.
///
/// A value without time: whoever asks gives up after a while, for a terminal that says nothing. The last question is one that
/// every terminal answers (`CSI c`), so the end is known.
public struct TerminalQueries: Hashable, Sendable {
    /// In order; the cursor is asked for behind each, on the line that is going to be painted over.
    private static let clusters = ["❤\u{FE0F}", "👍🏽", "👨\u{200D}👩\u{200D}👧"]
    private static let imageID = 31
    /// How many times it asks where the cursor is.
    static var cursorReports: Int { clusters.count }

    /// Writes what takes room at the top of the screen.
    ///
    /// - Parameter asksForGraphics: False for terminals inside of which others run, as tmux and screen are: they take the
    ///   question for something else, and pass images on as they like.
    public static func text(asksForGraphics: Bool) -> String {
        clusters.map { "\u{1B}[1;1H\($0)\u{1B}[6n" }.joined() + "\u{1B}[1;1H\u{1B}[2K\u{1B}]11;?\u{1B}\\\u{1B}[?2026$p"
            + "\u{1B}[?u"
            + (asksForGraphics
                ? "\u{1B}[16t\u{1B}_Gi=\(imageID),s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\" : "") + "\u{1B}[c"
    }

    /// Whether a terminal of this environment can be asked for graphics.
    public static func canAskForGraphics(_ environment: (String) -> String?) -> Bool {
        let term = environment("TERM") ?? ""
        let isInside = environment("TMUX") != nil || environment("STY") != nil
        return !isInside && !["tmux", "screen", "linux", "dumb"].contains { term.hasPrefix($0) } && !term.isEmpty
    }

    private var widths: [Int] = []
    /// Whether the last question is answered.
    public private(set) var isComplete = false
    /// Whether the terminal can show a frame at once (mode 2026).
    public private(set) var synchronizes = false
    /// Whether it knows kitty's keyboard protocol.
    public private(set) var reportsKeys = false
    /// The best way to show images on it. What is answered behind the last question says nothing of it.
    public private(set) var graphics = GraphicsProtocol.halfBlocks
    private var cell: PixelSize?
    private static let cellSides = 4...100
    /// Nil if the terminal does not say.
    public private(set) var hasLightBackground: Bool?

    /// Nothing is answered yet.
    public init() {}

    /// Takes an answer.
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
            // Sixels are of pixels: without the size of a cell they would cover others.
            if !isComplete, graphics == .halfBlocks, attributes.dropFirst().contains(4), let cell {
                graphics = .sixel(cell: cell)
            }
            isComplete = true
        }
    }

    /// As measured; as Unicode has it for what the terminal has not told.
    public var profile: WidthProfile {
        var profile = WidthProfile.unicode
        guard widths.count == Self.clusters.count else { return profile }
        profile.widensPictures = widths[0] == 2
        profile.joinsSkinTones = widths[1] == 2
        profile.joinsSequences = widths[2] == 2
        return profile
    }
}
