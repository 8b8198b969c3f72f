import CLinux
import Testing

@testable import CurlTransport

/// Messages as the kernel sends them (rtnetlink(7)), and what they mean.
struct RouteTableTests {
    private func message(_ type: Int, sequence: UInt32, _ body: [UInt8] = []) -> [UInt8] {
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + body.count)
        header.nlmsg_type = UInt16(type)
        header.nlmsg_seq = sequence
        return withUnsafeBytes(of: header) { Array($0) } + body
    }

    /// A default route of the main table over interface `interface`.
    private func route(_ interface: UInt8, prefix: UInt8 = 0, flags: UInt32 = 0) -> [UInt8] {
        var body = rtmsg()
        body.rtm_flags = flags
        (body.rtm_family, body.rtm_dst_len, body.rtm_table, body.rtm_type) = (2, prefix, 254, 1)
        return withUnsafeBytes(of: body) { Array($0) } + [8, 0, 4, 0, interface, 0, 0, 0]
    }

    /// A whole answer to the table's question.
    private func refresh(_ table: inout RouteTable, _ routes: [[UInt8]]) -> RouteTable.News {
        table.beginRefresh()
        let bytes =
            routes.flatMap { message(Int(RTM_NEWROUTE), sequence: 7, $0) } + message(Int(NLMSG_DONE), sequence: 7)
        return bytes.withUnsafeBytes { table.read($0) }
    }

    @Test func onlyTransitionsAreNews() {
        var table = RouteTable()
        #expect(refresh(&table, [route(2)]) == .refreshed(nil))
        #expect(refresh(&table, [route(2), route(2, prefix: 24)]) == .refreshed(nil))
        #expect(refresh(&table, []) == .refreshed(.lost))
        #expect(refresh(&table, []) == .refreshed(nil))
        #expect(refresh(&table, [route(3)]) == .refreshed(.returned))
        #expect(refresh(&table, [route(4)]) == .refreshed(.changed))
    }

    @Test func aMachineWithoutNetworkHasLostNothing() {
        var table = RouteTable()
        #expect(refresh(&table, []) == .refreshed(nil))
    }

    @Test func aRouteOverADeadLinkIsNoWayOut() {
        var table = RouteTable()
        #expect(refresh(&table, [route(2)]) == .refreshed(nil))
        #expect(refresh(&table, [route(2, flags: UInt32(RTNH_F_LINKDOWN))]) == .refreshed(.lost))
        #expect(refresh(&table, [route(2)]) == .refreshed(.returned))
    }

    @Test func aRefusedQuestionIsNoNews() {
        var table = RouteTable()
        #expect(refresh(&table, [route(2)]) == .refreshed(nil))
        table.beginRefresh()
        let refusal = message(Int(NLMSG_ERROR), sequence: 7, [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(refusal.withUnsafeBytes { table.read($0) } == .refreshed(nil))
        #expect(refresh(&table, [route(2)]) == .refreshed(nil))
        #expect(refresh(&table, []) == .refreshed(.lost))
    }

    @Test(arguments: [RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR].map { Int($0) })
    func anyChangeAsksForARefresh(type: Int) {
        var table = RouteTable()
        let bytes = message(type, sequence: 0, route(2))
        #expect(bytes.withUnsafeBytes { table.read($0) } == .somethingChanged)
    }

    @Test func brokenMessagesAreHarmless() {
        var table = RouteTable()
        let whole = message(Int(RTM_NEWROUTE), sequence: 7, route(2))
        for count in 0..<whole.count {
            #expect(whole.prefix(count).withUnsafeBytes { table.read($0) } == .nothing)
        }
        var long = whole
        long[0] = 255
        #expect(long.withUnsafeBytes { table.read($0) } == .nothing)
    }
}
