/* cronce: starts the Python of the folder that this program is in, with that folder's loader and libraries.

   It is static and reads neither /etc nor the image's libraries. Variables of the dynamic loader (LD_PRELOAD of an image
   with jemalloc) and of the locale are meant for the command: they are hidden from the guard, which gives them back to
   the command. With LC_ALL=C, Python reads no locale of the image and does not set LC_CTYPE (PEP 538). */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char *start = "import os\n"
    "del os.environ['LC_ALL']\n"
    "for name in [name for name in os.environ if name.startswith(('\\1D_', '\\1C_ALL'))]:\n"
    "    os.environ['L' + name[1:]] = os.environ.pop(name)\n"
    "from cronce.cli.main import main\n"
    "main()";

int main(int argc, char **argv, char **envp) {
    char self[PATH_MAX], loader[PATH_MAX + 8], libraries[PATH_MAX + 8], python[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) self[length] = 0;
    else if (!realpath((const char *)getauxval(AT_EXECFN), self)) /* there is no /proc */
        return fputs("cronce: cannot find its own folder without /proc\n", stderr), 71;
    *strrchr(self, '/') = 0;
    snprintf(loader, sizeof loader, "%s/ld.so", self);
    snprintf(libraries, sizeof libraries, "%s/lib", self);
    snprintf(python, sizeof python, "%s/bin/python3", self);
    size_t variables = 0;
    for (; envp[variables]; variables++)
        if (!strncmp(envp[variables], "LD_", 3) || !strncmp(envp[variables], "LC_ALL=", 7)) *envp[variables] = 1;
    char *environment[variables + 2];
    memcpy(environment, envp, variables * sizeof *envp);
    environment[variables] = "LC_ALL=C";
    environment[variables + 1] = NULL;
    char *before[] = {loader, "--inhibit-cache", "--library-path", libraries, python,
                      "-I", "-S", "-c", (char *)start};
    size_t count = sizeof before / sizeof *before;
    char *arguments[count + argc];
    memcpy(arguments, before, sizeof before);
    memcpy(arguments + count, argv + 1, argc * sizeof *argv); /* with the NULL at the end */
    execve(loader, arguments, environment);
    perror("cronce: cannot start its Python");
    return 71;
}
