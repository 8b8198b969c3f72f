public import Foundation
public import MatrixKit
public import TerminalUI

/// What cells need to know to be drawn.
public struct MXKCellLayout: Sendable, Hashable {
    /// No line is wider.
    public var columns: Int
    /// How parts look.
    public var theme: MXKTheme
    /// How wide the terminal shows characters.
    public var profile: WidthProfile
    /// Emoji are shown as their short names: `:thumbsup:`.
    public var namesEmoji = false
    /// Hidden parts are shown.
    public var revealsSpoilers = false
    /// Who has read what is shown.
    public var showsReceipts = true
    /// Images are shown, as far as colours allow it.
    public var showsImages = false

    /// A layout of so many columns.
    public init(columns: Int, theme: MXKTheme = .dark, profile: WidthProfile = .unicode) {
        (self.columns, self.theme, self.profile) = (columns, theme, profile)
    }
}

/// A view of lines of a terminal.
@MainActor
public protocol MXKTerminalCell: MXKCellRendering {
    /// What it shows, in lines.
    func lines(_ layout: MXKCellLayout) -> [TerminalLine]
    /// What happens when somebody clicks there, such as `kMXKRoomBubbleCellTapOnAttachmentView`; nil is nothing.
    func action(atLine line: Int, column: Int) -> String?
}

extension MXKTerminalCell {
    /// Nothing.
    public func action(atLine line: Int, column: Int) -> String? { nil }

    /// The number of its lines.
    public static func height(for cellData: MXKCellData?, withMaximumWidth maxWidth: CGFloat) -> CGFloat {
        let cell = Self()
        cell.render(cellData)
        return CGFloat(cell.lines(MXKCellLayout(columns: max(Int(min(maxWidth, 1_000)), 1))).count)
    }
}

/// A view of lines that shows nothing of what it is given until a subclass says how.
@MainActor
open class MXKTerminalBaseCell: MXKTerminalCell {
    /// Told what users do with it.
    public weak var delegate: (any MXKCellRenderingDelegate)?
    private var cellData: MXKCellData?

    /// A view that shows nothing yet.
    public required init() {}

    open func render(_ cellData: MXKCellData?) { self.cellData = cellData }

    /// What it shows.
    public func renderedCellData() -> MXKCellData? { cellData }

    open func lines(_ layout: MXKCellLayout) -> [TerminalLine] { [] }

    open func action(atLine line: Int, column: Int) -> String? { nil }
}
