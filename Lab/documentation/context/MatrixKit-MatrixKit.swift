import MatrixSDK

@MainActor
final class Reader: MXKDataSourceDelegate {
    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? { nil }
    func cellReuseIdentifier(for cellData: MXKCellData) -> String? { nil }
    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) {}

    func read(_ session: MXSession) async throws {
        // BLOCKS
    }
}
