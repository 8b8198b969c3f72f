/// One place of a screen.
public struct TerminalCell: Hashable, Sendable {
    /// What a reader takes for one character. Empty in the columns that a wide one takes beyond its first.
    public var cluster: String
    /// 1 or more; 0 where the cell before reaches into this one.
    public var width: UInt8
    /// How it looks.
    public var style: TerminalStyle
    /// Where it leads; nil for most.
    public var link: String?

    /// A cell; a blank one, unless told otherwise.
    public init(_ cluster: String = " ", width: UInt8 = 1, style: TerminalStyle = .standard, link: String? = nil) {
        (self.cluster, self.width, self.style, self.link) = (cluster, width, style, link)
    }

    /// Nothing in the terminal's own colours.
    public static let blank = TerminalCell()
}

/// One row of cells, as many as its columns.
public struct TerminalLine: Hashable, Sendable {
    /// From the left.
    public private(set) var cells: [TerminalCell]
    /// What the line belongs to, such as an event, for scrolling and for clicks.
    public var anchor: String?
    /// What covers some of the cells. It goes when one of them is cut off or gets something else.
    public internal(set) var image: TerminalLineImage?

    /// A line of cells.
    public init(_ cells: [TerminalCell] = [], anchor: String? = nil) { (self.cells, self.anchor) = (cells, anchor) }

    /// A line of a text that has no breaks. What takes no column of its own belongs to the character before.
    public init(_ text: StyledText, _ profile: WidthProfile = .unicode, anchor: String? = nil) {
        self.init(anchor: anchor)
        append(text, profile)
    }

    /// How many cells it has.
    public var columns: Int { cells.count }

    /// Without the blanks at its end.
    public var text: String {
        let text = cells.map(\.cluster).joined()
        return String(text.prefix(upTo: text.lastIndex { $0 != " " }.map(text.index(after:)) ?? text.startIndex))
    }

    /// Adds text at the end.
    public mutating func append(_ text: StyledText, _ profile: WidthProfile = .unicode) {
        for run in text.runs {
            for character in run.text { append(character, run.style, run.link, profile) }
        }
    }

    /// Adds another line at the end.
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

    /// Blanks up to this many columns.
    public mutating func pad(to columns: Int, _ style: TerminalStyle = .standard) {
        let missing = columns - cells.count
        if missing > 0 { cells += Array(repeating: TerminalCell(style: style), count: missing) }
    }

    /// Exactly this many columns. A character that would reach beyond is a blank.
    public func fitted(to columns: Int, _ style: TerminalStyle = .standard) -> TerminalLine {
        var line = self
        line.pad(to: columns, style)
        line.cells.removeLast(line.cells.count - max(columns, 0))
        line.blankCutCharacters()
        if let image, image.columns.upperBound > line.cells.count { line.image = nil }
        return line
    }

    /// Its beginning with `…` at the end, if it is too wide.
    public func truncated(to columns: Int) -> TerminalLine {
        guard cells.count > columns else { return self }
        guard columns > 0 else { return TerminalLine(anchor: anchor) }
        var line = fitted(to: columns - 1)
        line.cells.append(TerminalCell("…", style: cells[columns - 1].style))
        return line
    }

    /// Puts cells in the place of others. Characters that are cut by it are blanks.
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
