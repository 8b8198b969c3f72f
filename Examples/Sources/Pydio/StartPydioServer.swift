import Foundation
import PydioSDK
import ScriptedServer
import Synchronization

/// Starts a stand-in for a Pydio server. It has one workspace, where a file appears once a client watches it.
func startPydioServer() throws -> Account {
    let pydio = PydioServer()
    let server = try ScriptedServer { pydio.answer($0) }
    return Account(server: server.url, user: User(userid: "ada", password: "open sesame"))
}

private final class PydioServer: Sendable {
    private let polls = Mutex(0)

    func answer(_ request: ScriptedServer.Request) -> ScriptedServer.Answer {
        let action = request.parameters["get_action"]
        if action == "get_seed" { return .text("0123456789abcdef0123456789abcdef") }
        if action == "login" { return .xml(#"<tree><logging_result value="1" secure_token="token"/></tree>"#) }
        guard request.parameters["secure_token"] == "token" else { return .xml("<tree><require_auth/></tree>") }
        switch action {
        case "get_xml_registry" where request.parameters["xPath"] == "user/repositories":
            return .xml(
                """
                <ajxp_registry_part xPath="user/repositories"><repositories>
                <repo access_type="fs" id="0" repositorySlug="plans"><label>Plans</label></repo>
                </repositories></ajxp_registry_part>
                """)
        case "get_xml_registry":
            return .xml(
                """
                <ajxp_registry_part xPath="plugins"><plugins><ajxp_plugin id="core.mq"><plugin_configs>
                <property name="POLLER_FREQUENCY">2</property>
                </plugin_configs></ajxp_plugin></plugins></ajxp_registry_part>
                """)
        case "ls":
            return .xml(
                """
                <tree is_file="false" filename="" text="">
                <tree is_file="false" filename="/drawings" text="drawings" ajxp_mime="ajxp_folder"/>
                <tree is_file="true" filename="/roof.txt" text="roof.txt" bytesize="42"/>
                </tree>
                """)
        case "client_consume_channel": return .xml("<tree>\(news)</tree>")
        default: return .text("")
        }
    }

    /// The second poll finds a new file.
    private var news: String {
        guard
            polls.withLock({ count in
                count += 1; return count
            }) == 2
        else { return "" }
        return #"<nodes_diff><add><tree is_file="true" filename="/new.txt" text="new.txt"/></add></nodes_diff>"#
    }
}
