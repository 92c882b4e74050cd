// SPDX-License-Identifier: Apache-2.0
//
// The account of the interactive phone, kept from one run to the next: in a file that only its owner reads, with the password in
// the desktop's secret service, or, where there is none, in that file too.

import Crypto
import SecretStore

/// What is remembered of an account.
package struct RememberedAccount: Sendable, Equatable {
    /// Options and their values, as they stand on the command line: `--account`, `--proxy`, …
    package var options: [(name: String, value: String)]
    /// The password, where no secret service keeps it.
    package var password: Secret?

    /// The options that are worth remembering; files and passwords are not among them.
    package static let names = [
        "--account", "--auth-user", "--registrar", "--proxy", "--transport", "--listen", "--rtp-ports", "--dns", "--expires", "--direct",
        "--ca", "--cert", "--key", "--pin", "--device", "--codecs", "--dtmf-method",
    ]

    package init(options: [(name: String, value: String)], password: Secret? = nil) {
        self.options = options
        self.password = password
    }

    /// What the command line says of its account, or of the first of several; nil without `--account`.
    package init?(_ invocation: Invocation) {
        let options = Self.names.compactMap { name in invocation.value(name).map { (name: name, value: $0) } }
        guard options.contains(where: { $0.name == "--account" }) else { return nil }
        self.init(options: options)
    }

    package var address: String { options.first { $0.name == "--account" }?.value ?? "" }

    package static func == (left: Self, right: Self) -> Bool {
        left.password == right.password && left.options.map(\.name) == right.options.map(\.name)
            && left.options.map(\.value) == right.options.map(\.value)
    }

    /// Puts the options into a command line; what stands there already stays.
    package static func apply(_ accounts: [RememberedAccount], to invocation: inout Invocation) {
        let table = invocation.subcommand.options.flatMap(\.options)
        var own: [[String: [String]]] = []
        for account in accounts {
            own.append([:])
            for (name, value) in account.options where !invocation.has(name) {
                guard let option = table.first(where: { $0.name == name }) else { continue }
                if option.isOfAccount { own[own.count - 1][name] = [value] } else { invocation.values[name] = [value] }
            }
        }
        invocation.setAccounts(own)
    }

    // MARK: The file

    package var json: JSONValue {
        var members = options.map { JSONValue.Member(String($0.name.dropFirst(2)), .string($0.value)) }
        if let password { members.append(.init("password", .string(password.reveal { String(decoding: $0, as: UTF8.self) }))) }
        return .object(members)
    }

    package init?(_ json: JSONValue) {
        guard case .object(let members) = json else { return nil }
        var options: [(name: String, value: String)] = []
        var password: Secret?
        for member in members {
            guard let text = member.value.text else { continue }
            if member.name == "password" {
                password = Secret(text)
            } else if Self.names.contains("--" + member.name) {
                options.append(("--" + member.name, text))
            }
        }
        self.init(options: options, password: password)
        if address.isEmpty { return nil }
    }
}

/// Where the account is kept.
package struct AccountMemory: Sendable {
    /// The secret service, or what stands for it in a test.
    package struct Keyring: Sendable {
        package var store: @Sendable (Secret, _ label: String, _ account: String) throws(SecretStoreError) -> Void
        package var find: @Sendable (_ account: String) throws(SecretStoreError) -> Secret?
        package var forget: @Sendable (_ account: String) throws(SecretStoreError) -> Bool

        package init(
            store: @escaping @Sendable (Secret, String, String) throws(SecretStoreError) -> Void,
            find: @escaping @Sendable (String) throws(SecretStoreError) -> Secret?,
            forget: @escaping @Sendable (String) throws(SecretStoreError) -> Bool
        ) {
            (self.store, self.find, self.forget) = (store, find, forget)
        }

        /// The one of the person's session bus.
        package static let desktop = Keyring(
            store: { (secret, label, account) throws(SecretStoreError) in
                try SecretStore.store(secret, label: label, attributes: attributes(account))
            },
            find: { (account) throws(SecretStoreError) in try SecretStore.find(attributes: attributes(account)) },
            forget: { (account) throws(SecretStoreError) in try SecretStore.forget(attributes: attributes(account)) })

        private static func attributes(_ account: String) -> [SecretStore.Attribute] { [("application", "handset"), ("account", account)] }
    }

    package var path: String
    package var keyring: Keyring

    package init(path: String, keyring: Keyring = .desktop) {
        self.path = path
        self.keyring = keyring
    }

    /// `handset/phone.json` in the person's configuration folder (XDG Base Directory Specification); nil: there is no home.
    package static func usualPath(_ environment: (String) -> String? = Environment.value) -> String? {
        folder("XDG_CONFIG_HOME", "/.config", environment).map { $0 + "/phone.json" }
    }

    /// Where the lines typed are kept.
    package static func historyPath(_ environment: (String) -> String? = Environment.value) -> String? {
        folder("XDG_STATE_HOME", "/.local/state", environment).map { $0 + "/history" }
    }

    private static func folder(_ variable: String, _ usual: String, _ environment: (String) -> String?) -> String? {
        // The specification: a path that is not absolute is to be ignored.
        if let path = environment(variable), path.hasPrefix("/") { return path + "/handset" }
        return environment("HOME").flatMap { $0.hasPrefix("/") ? $0 + usual + "/handset" : nil }
    }

    /// Keeps accounts in the place of those that were kept. The result is a warning where a password had to go into the file.
    package func remember(_ accounts: [RememberedAccount]) throws(CommandFailure) -> String? {
        var accounts = accounts
        var warning: String?
        for place in accounts.indices {
            guard let password = accounts[place].password else { continue }
            do {
                try keyring.store(password, "Handset \(accounts[place].address)", accounts[place].address)
                accounts[place].password = nil
            } catch {
                warning = "The password is kept in \(path), readable by you alone, because no secret service takes it: \(error.reason)."
            }
        }
        do {
            try TextFile.replace(path, with: JSONValue.object([.init("accounts", .array(accounts.map(\.json)))]).description + "\n")
        } catch { throw .failed("\(error).") }
        return warning
    }

    /// The accounts that are kept, with their passwords if those are found. `warning` tells what is wrong.
    package func recall(warning: inout String?) -> [RememberedAccount] {
        guard let bytes = try? TextFile.read(path) else { return [] }
        var accounts: [RememberedAccount] = []
        if let json = try? JSONValue(parsing: String(decoding: bytes, as: UTF8.self)) {
            if case .array(let several)? = json["accounts"] { accounts = several.compactMap { RememberedAccount($0) } }
            // As it was kept before there could be several.
            if let one = json["account"].flatMap({ RememberedAccount($0) }) { accounts.append(one) }
        }
        guard !accounts.isEmpty else {
            warning = "\(path) cannot be read as remembered settings."
            return []
        }
        if accounts.contains(where: { $0.password != nil }), TextFile.isReadableByOthers(path) {
            warning = "\(path) holds a password and can be read by others: chmod 600 it."
        }
        for place in accounts.indices where accounts[place].password == nil {
            do throws(SecretStoreError) { accounts[place].password = try keyring.find(accounts[place].address) } catch {
                warning = "The password of \(accounts[place].address) cannot be fetched: \(error.reason)."
            }
        }
        return accounts
    }

    /// Forgets the accounts and their passwords; false: there were none.
    package func forget() -> Bool {
        var warning: String?
        let accounts = recall(warning: &warning)
        guard !accounts.isEmpty else { return false }
        for account in accounts { _ = try? keyring.forget(account.address) }
        return TextFile.remove(path)
    }
}
