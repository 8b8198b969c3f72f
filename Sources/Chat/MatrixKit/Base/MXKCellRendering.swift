public import Foundation

/// A view that shows cell data: a row of a list, or a message bubble.
///
/// The renderer defines the type of view: `MatrixKitTerminal` uses terminal lines. Lengths are in the renderer's unit.
@MainActor
public protocol MXKCellRendering: AnyObject {
    /// Creates an empty view.
    init()
    /// Shows the given data; pass `nil` to clear the view.
    func render(_ cellData: MXKCellData?)
    /// Returns the height needed to show the data.
    static func height(for cellData: MXKCellData?, withMaximumWidth maxWidth: CGFloat) -> CGFloat
    /// The delegate to notify of user actions, usually the data source.
    var delegate: (any MXKCellRenderingDelegate)? { get set }
    /// Returns the data that the view shows.
    func renderedCellData() -> MXKCellData?
    /// Called when the view has left the screen.
    func didEndDisplay()
}

extension MXKCellRendering {
    /// The default implementation does nothing.
    public func didEndDisplay() {}
}

/// Receives user actions on cells.
@MainActor
public protocol MXKCellRenderingDelegate: AnyObject {
    /// Reports an action, such as `kMXKRoomBubbleCellTapOnAttachmentView`.
    func cell(
        _ cell: any MXKCellRendering, didRecognizeAction actionIdentifier: String, userInfo: [AnyHashable: Any]?)
    /// Returns whether to allow an action, such as following a link.
    func cell(
        _ cell: any MXKCellRendering, shouldDoAction actionIdentifier: String, userInfo: [AnyHashable: Any]?,
        defaultValue: Bool
    ) -> Bool
}
