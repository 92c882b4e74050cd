// SPDX-License-Identifier: Apache-2.0

import PhoneCore

extension HandsetCommand {
    /// Sends one message and tells what became of it.
    static func runMessage(_ context: CommandContext) async throws -> ExitStatus {
        let operands = context.invocation.operands
        return try await runNotification(context) { session in
            try await session.sendFirst(operands.last ?? "", to: operands.first ?? "")
        }
    }

    /// Subscribes and shows what is told, until it ends or a signal comes.
    static func runSubscribe(_ context: CommandContext) async throws -> ExitStatus {
        let invocation = context.invocation
        guard let package = invocation.value("--event").flatMap(EventPackage.init) else {
            throw CommandFailure.usage("subscribe needs --event mwi, dialog or presence.")
        }
        if invocation.operands.isEmpty, !invocation.has("--account") {
            throw CommandFailure.usage("subscribe needs a URI, or --account for its own mailbox.")
        }
        let expires = invocation.has("--once") ? 0 : invocation.integer("--lasting") ?? 3600
        return try await runNotification(context) { session in
            try await session.subscribeFirst(to: invocation.operands.first, package, expires: expires)
        }
    }

    private static func runNotification(
        _ context: CommandContext, _ begin: (PhoneSession) async throws -> Void
    ) async throws -> ExitStatus {
        let session = PhoneSession(context, media: try MediaSettings(context.invocation), incoming: .refuse(status: 480))
        try await session.open(try AccountSettings.all(context.invocation), maximumCalls: 1)
        do {
            try await begin(session)
        } catch let error as PhoneError {
            await session.phone?.stop()
            throw CommandFailure.failed(error.reason)
        }
        return try status(await session.run())
    }
}
