/// A cell of a screen.
public struct TerminalCell: Hashable, Sendable {
    /// A user-perceived character. Empty in the further columns of a wide one.
    public var cluster: String
    /// The width in columns, at least 1; 0 where the previous cell extends into this one.
    public var width: UInt8
    /// Its style.
    public var style: TerminalStyle
    /// The link's target, if any.
    public var link: String?

    /// Creates a cell; by default, a blank one.
    public init(_ cluster: String = " ", width: UInt8 = 1, style: TerminalStyle = .standard, link: String? = nil) {
        (self.cluster, self.width, self.style, self.link) = (cluster, width, style, link)
    }

    /// A blank cell in the terminal's default colours.
    public static let blank = TerminalCell()
}

/// A row of cells, one for each column.
public struct TerminalLine: Hashable, Sendable {
    /// The cells from the left.
    public private(set) var cells: [TerminalCell]
    /// The object that the line belongs to, such as an event, for scrolling and clicks.
    public var anchor: String?
    /// The image that covers some of the cells. It is removed when one of them is cut off or overwritten.
    public internal(set) var image: TerminalLineImage?

    /// Creates a line of cells.
    public init(_ cells: [TerminalCell] = [], anchor: String? = nil) { (self.cells, self.anchor) = (cells, anchor) }

    /// Creates a line from a text without breaks. Zero-width characters belong to the previous character.
    public init(_ text: StyledText, _ profile: WidthProfile = .unicode, anchor: String? = nil) {
        self.init(anchor: anchor)
        append(text, profile)
    }

    /// The number of cells.
    public var columns: Int { cells.count }

    /// The text without trailing blanks.
    public var text: String {
        let text = cells.map(\.cluster).joined()
        return String(text.prefix(upTo: text.lastIndex { $0 != " " }.map(text.index(after:)) ?? text.startIndex))
    }

    /// Appends text.
    public mutating func append(_ text: StyledText, _ profile: WidthProfile = .unicode) {
        for run in text.runs {
            for character in run.text { append(character, run.style, run.link, profile) }
        }
    }

    /// Appends another line.
    public mutating func append(_ line: TerminalLine) {
        if image == nil { image = line.image?.moved(by: cells.count) }
        cells += line.cells
    }

    private mutating func append(
        _ character: Character, _ style: TerminalStyle, _ link: String?, _ profile: WidthProfile
    ) {
        let width = profile.width(of: character)
        guard width > 0 else {
            guard let last = cells.lastIndex(where: { $0.width > 0 }) else { return }
            cells[last].cluster += String(character)
            return
        }
        cells.append(TerminalCell(String(character), width: UInt8(clamping: width), style: style, link: link))
        for _ in 1..<width { cells.append(TerminalCell("", width: 0, style: style, link: link)) }
    }

    /// Pads the line with blanks to this many columns.
    public mutating func pad(to columns: Int, _ style: TerminalStyle = .standard) {
        let missing = columns - cells.count
        if missing > 0 { cells += Array(repeating: TerminalCell(style: style), count: missing) }
    }

    /// Returns the line with exactly this many columns. A character that would extend beyond them becomes a blank.
    public func fitted(to columns: Int, _ style: TerminalStyle = .standard) -> TerminalLine {
        var line = self
        line.pad(to: columns, style)
        line.cells.removeLast(line.cells.count - max(columns, 0))
        line.blankCutCharacters()
        if let image, image.columns.upperBound > line.cells.count { line.image = nil }
        return line
    }

    /// Returns the line, shortened with `…` at the end if it is too wide.
    public func truncated(to columns: Int) -> TerminalLine {
        guard cells.count > columns else { return self }
        guard columns > 0 else { return TerminalLine(anchor: anchor) }
        var line = fitted(to: columns - 1)
        line.cells.append(TerminalCell("…", style: cells[columns - 1].style))
        return line
    }

    /// Replaces cells. Characters cut by this become blanks.
    mutating func replace(at column: Int, with new: TerminalLine) {
        let start = max(column, 0)
        let end = min(column + new.cells.count, cells.count)
        guard start < end else { return }
        cells.replaceSubrange(start..<end, with: new.cells[(start - column)..<(end - column)])
        blankCutCharacters()
        if let image, image.columns.overlaps(start..<end) { self.image = nil }
        if let image = new.image?.moved(by: column), image.columns.clamped(to: start..<end) == image.columns {
            self.image = image
        }
    }

    mutating func blankUnderImage() {
        guard let image else { return }
        for index in image.columns.clamped(to: cells.indices) { cells[index] = .blank }
    }

    /// Changes the style of every cell.
    public mutating func restyle(_ change: (TerminalStyle) -> TerminalStyle) {
        for index in cells.indices { cells[index].style = change(cells[index].style) }
    }

    private mutating func blankCutCharacters() {
        var index = 0
        while index < cells.count {
            let width = max(Int(cells[index].width), 1)
            let isWhole =
                cells[index].width > 0 && index + width <= cells.count
                && cells[(index + 1)..<(index + width)].allSatisfy { $0.width == 0 }
            if isWhole {
                index += width
            } else {
                cells[index] = TerminalCell(style: cells[index].style)
                index += 1
            }
        }
    }
}
