import JSONBytes
package import TestSupport

extension HostileFrames {
    /// Answers the requests of a client. Once it has subscribed, sends all frames with each text, then an event `done`.
    /// A client event `client-goodbye` ends the connection with a hostile reason.
    package static func serve(_ texts: [String], channel: String = "presence-room") -> SocketServer {
        SocketServer { peer in
            peer.acceptWebSocket()
            peer.writeFrame(
                #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\",\"activity_timeout\":120}"}"#)
            while let frame = peer.readFrame() {
                if frame.contains("pusher:signin") {
                    let user = JSONString.quoted(#"{"id":\#(HostileText.json(texts[0])),"user_info":{}}"#)
                    let data = JSONString.quoted(#"{"user_data":\#(user)}"#)
                    peer.writeFrame(#"{"event":"pusher:signin_success","data":\#(data)}"#)
                } else if frame.contains("pusher:subscribe"), frame.contains(channel) {
                    let data = JSONString.quoted(#"{"presence":{"count":0,"ids":[],"hash":{}}}"#)
                    peer.writeFrame(
                        #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","data":\#(data)}"#)
                    for text in texts { for frame in all(text, channel: channel) { peer.writeFrame(frame) } }
                    peer.writeFrame(#"{"event":"done","channel":"\#(channel)","data":"{}"}"#)
                } else if frame.contains("pusher:ping") {
                    peer.writeFrame(#"{"event":"pusher:pong","data":{}}"#)
                } else if frame.contains("client-goodbye") {
                    let reason = Array("\u{1B}[2J\n\u{202E}\u{9B}31m forged".utf8)
                    peer.writeClose(code: 4000, reason: reason)
                    return
                }
            }
        }
    }
}
