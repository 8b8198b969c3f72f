public import Foundation
public import MatrixKit
public import TerminalUI

/// The layout and appearance for drawing cells.
public struct MXKCellLayout: Sendable, Hashable {
    /// The maximum width of a line.
    public var columns: Int
    /// The styles of the parts.
    public var theme: MXKTheme
    /// The character widths of the terminal.
    public var profile: WidthProfile
    /// Whether to show emoji as their short names: `:thumbsup:`.
    public var namesEmoji = false
    /// Whether to show spoilers.
    public var revealsSpoilers = false
    /// Whether to show receipts.
    public var showsReceipts = true
    /// Whether to show images, as far as the terminal's colours allow.
    public var showsImages = false

    /// Creates a layout with this width.
    public init(columns: Int, theme: MXKTheme = .dark, profile: WidthProfile = .unicode) {
        (self.columns, self.theme, self.profile) = (columns, theme, profile)
    }
}

/// A cell view made of terminal lines.
@MainActor
public protocol MXKTerminalCell: MXKCellRendering {
    /// Returns the content as lines.
    func lines(_ layout: MXKCellLayout) -> [TerminalLine]
    /// Returns the action of a click at this position, such as `kMXKRoomBubbleCellTapOnAttachmentView`; `nil` if there
    /// is none.
    func action(atLine line: Int, column: Int) -> String?
}

extension MXKTerminalCell {
    /// The default implementation returns `nil`.
    public func action(atLine line: Int, column: Int) -> String? { nil }

    /// Returns the number of lines.
    public static func height(for cellData: MXKCellData?, withMaximumWidth maxWidth: CGFloat) -> CGFloat {
        let cell = Self()
        cell.render(cellData)
        return CGFloat(cell.lines(MXKCellLayout(columns: max(Int(min(maxWidth, 1_000)), 1))).count)
    }
}

/// A base class whose subclasses define the lines to show.
@MainActor
open class MXKTerminalBaseCell: MXKTerminalCell {
    /// The delegate to notify of user actions.
    public weak var delegate: (any MXKCellRenderingDelegate)?
    private var cellData: MXKCellData?

    /// Creates an empty view.
    public required init() {}

    open func render(_ cellData: MXKCellData?) { self.cellData = cellData }

    /// Returns the data that the view shows.
    public func renderedCellData() -> MXKCellData? { cellData }

    open func lines(_ layout: MXKCellLayout) -> [TerminalLine] { [] }

    open func action(atLine line: Int, column: Int) -> String? { nil }
}
