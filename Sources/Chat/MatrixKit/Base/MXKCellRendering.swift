public import Foundation

/// A view that shows cell data: a row of a list, a bubble of a room.
///
/// What a view is, a renderer says: `MatrixKitTerminal` has lines of a terminal. Lengths are in its unit.
@MainActor
public protocol MXKCellRendering: AnyObject {
    /// A view that shows nothing yet.
    init()
    /// Shows this from now on; nil is nothing.
    func render(_ cellData: MXKCellData?)
    /// How high it would be.
    static func height(for cellData: MXKCellData?, withMaximumWidth maxWidth: CGFloat) -> CGFloat
    /// Told what users do with it: usually the data source.
    var delegate: (any MXKCellRenderingDelegate)? { get set }
    /// What it shows.
    func renderedCellData() -> MXKCellData?
    /// It has left the screen.
    func didEndDisplay()
}

extension MXKCellRendering {
    /// Nothing.
    public func didEndDisplay() {}
}

/// Told what users do with cells.
@MainActor
public protocol MXKCellRenderingDelegate: AnyObject {
    /// Something was done, such as `kMXKRoomBubbleCellTapOnAttachmentView`.
    func cell(
        _ cell: any MXKCellRendering, didRecognizeAction actionIdentifier: String, userInfo: [AnyHashable: Any]?)
    /// Whether it may be done, such as following a link.
    func cell(
        _ cell: any MXKCellRendering, shouldDoAction actionIdentifier: String, userInfo: [AnyHashable: Any]?,
        defaultValue: Bool
    ) -> Bool
}
